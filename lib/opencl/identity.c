/* SPDX-License-Identifier: Apache-2.0 */
/* opencl/identity.c: where in the machine a device is. */
#include "opencl/opencl.h"
#include "opencl/private.h"

#include <stdio.h>
#include <string.h>

/* Of extensions that not all headers have. */
enum {
  IDENTITY_PCI = 0x410F,    /* CL_DEVICE_PCI_BUS_INFO_KHR: domain, bus, device, function */
  IDENTITY_UUID = 0x106A,   /* CL_DEVICE_UUID_KHR: 16 bytes */
  IDENTITY_NV_BUS = 0x4008, /* CL_DEVICE_PCI_BUS_ID_NV; the next one is the slot, then the domain */
  IDENTITY_AMD_TOPOLOGY =
      0x4037 /* CL_DEVICE_TOPOLOGY_AMD: 24 bytes, of type 1 with bus, device, function at their end */
};

/* False: the driver does not know it, or in another form. */
static bool identity_get(cl_device_id id, cl_device_info what, void *out, size_t size) {
  size_t given = 0;
  return halo_cl.clGetDeviceInfo(id, what, size, out, &given) == CL_SUCCESS && given == size;
}

static bool identity_pci(cl_device_id id, char *out, size_t size) {
  cl_uint pci[4], bus, slot, domain;
  unsigned char topology[24];
  cl_uint type;
  if (identity_get(id, IDENTITY_PCI, pci, sizeof pci)) {
    snprintf(out, size, "PCI %04x:%02x:%02x.%x", pci[0], pci[1], pci[2], pci[3]);
    return true;
  }
  if (identity_get(id, IDENTITY_NV_BUS, &bus, sizeof bus) &&
      identity_get(id, IDENTITY_NV_BUS + 1, &slot, sizeof slot)) {
    if (!identity_get(id, IDENTITY_NV_BUS + 2, &domain, sizeof domain)) domain = 0;
    snprintf(out, size, "PCI %04x:%02x:%02x.%x", domain, bus, slot >> 3, slot & 7);
    return true;
  }
  if (!identity_get(id, IDENTITY_AMD_TOPOLOGY, topology, sizeof topology)) return false;
  memcpy(&type, topology, sizeof type);
  if (type != 1) return false;
  snprintf(out, size, "PCI 0000:%02x:%02x.%x", topology[21], topology[22], topology[23]);
  return true;
}

static bool identity_uuid(cl_device_id id, char *out, size_t size) {
  unsigned char uuid[16];
  if (!identity_get(id, IDENTITY_UUID, uuid, sizeof uuid)) return false;
  int at = snprintf(out, size, "UUID ");
  for (int i = 0; i < 16; i++) {
    const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    at += snprintf(out + at, size - (size_t)at, "%s%02x", dash, uuid[i]);
  }
  return true;
}

void halo_cl_address(cl_device_id id, char out[HALO_CL_ADDRESS]) {
  if (identity_pci(id, out, HALO_CL_ADDRESS)) return;
  if (!identity_uuid(id, out, HALO_CL_ADDRESS)) out[0] = '\0';
}
