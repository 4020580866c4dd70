/* opencl/turn.h: queues whose driver does commands in the thread that queues them. PoCL's drivers of that kind are not made
 * for several threads: a wait in one thread returns while another still works on the command (PoCL 6.0 and 7.1), or both
 * stand still (3.1). So the calls below, which do commands or wait for them, take turns on such queues; on all others
 * they are the plain functions. */
#ifndef HALO_OPENCL_TURN_H
#define HALO_OPENCL_TURN_H

#include <CL/cl.h>

/* Waits for the turn where the queue's device was given to halo_cl_turn_add; a thread that has a turn takes no
 * other. Code that queues commands through another library puts these around the call. */
void halo_cl_turn_begin(cl_command_queue queue);
void halo_cl_turn_end(cl_command_queue queue);

cl_int halo_cl_turn_over(cl_command_queue queue, cl_int code); /* ends it, and gives `code` */
void *halo_cl_turn_mapped(cl_command_queue queue, void *mapped);

#define HALO_CL_TURN(queue, call) (halo_cl_turn_begin(queue), halo_cl_turn_over(queue, call))

#define clFinish(queue) HALO_CL_TURN(queue, clFinish(queue))
#define clFlush(queue) HALO_CL_TURN(queue, clFlush(queue))
#define clEnqueueReadBuffer(queue, ...) HALO_CL_TURN(queue, clEnqueueReadBuffer(queue, __VA_ARGS__))
#define clEnqueueWriteBuffer(queue, ...)                                                           \
  HALO_CL_TURN(queue, clEnqueueWriteBuffer(queue, __VA_ARGS__))
#define clEnqueueCopyBuffer(queue, ...) HALO_CL_TURN(queue, clEnqueueCopyBuffer(queue, __VA_ARGS__))
#define clEnqueueFillBuffer(queue, ...) HALO_CL_TURN(queue, clEnqueueFillBuffer(queue, __VA_ARGS__))
#define clEnqueueNDRangeKernel(queue, ...)                                                         \
  HALO_CL_TURN(queue, clEnqueueNDRangeKernel(queue, __VA_ARGS__))
#define clEnqueueMarkerWithWaitList(queue, ...)                                                    \
  HALO_CL_TURN(queue, clEnqueueMarkerWithWaitList(queue, __VA_ARGS__))
#define clEnqueueBarrierWithWaitList(queue, ...)                                                   \
  HALO_CL_TURN(queue, clEnqueueBarrierWithWaitList(queue, __VA_ARGS__))
#define clEnqueueUnmapMemObject(queue, ...)                                                        \
  HALO_CL_TURN(queue, clEnqueueUnmapMemObject(queue, __VA_ARGS__))
#define clEnqueueMapBuffer(queue, ...)                                                             \
  (halo_cl_turn_begin(queue), halo_cl_turn_mapped(queue, clEnqueueMapBuffer(queue, __VA_ARGS__)))

#endif
