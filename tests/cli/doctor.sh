# SPDX-License-Identifier: Apache-2.0
# tests/cli/doctor.sh: `halo doctor` on made-up systems below the folder `system`, and on this one with drivers that are
# not there.
# shellcheck shell=bash disable=SC2016

# The files of a system: gpu ADDRESS VENDOR DEVICE [KERNEL_DRIVER], icd NAME LIBRARY, library PATH, has PATH [MODE],
# distribution ID LIKE NAME.
gpu() {
  local folder=system/sys/bus/pci/devices/$1
  mkdir -p "$folder"
  echo 0x030000 >"$folder/class"
  echo "$2" >"$folder/vendor"
  echo "$3" >"$folder/device"
  [ -z "${4:-}" ] || ln -s "../../../../bus/pci/drivers/$4" "$folder/driver"
}
has() {
  mkdir -p "system/$(dirname "$1")"
  : >"system/$1"
  chmod "${2:-666}" "system/$1"
}
library() { has "/usr/lib64/$1"; }
icd() {
  mkdir -p system/etc/OpenCL/vendors
  echo "$2" >"system/etc/OpenCL/vendors/$1.icd"
}
distribution() {
  mkdir -p system/etc
  printf 'ID=%s\nID_LIKE="%s"\nPRETTY_NAME="%s"\n' "$1" "$2" "$3" >system/etc/os-release
}
# As user 4242, who owns nothing, with a home folder that is writable.
examine() {
  library libOpenCL.so.1
  mkdir -p system/home/user
  chmod 777 system/home/user
  env -u POCL_CACHE_DIR -u HALO_CACHE_DIR -u XDG_CACHE_HOME -u OCL_ICD_VENDORS -u RUSTICL_ENABLE -u HALO_DEVICE \
    -u CONDA_PREFIX -u POCL_DEVICES -u CUDA_VISIBLE_DEVICES HOME=/home/user ${with+"${with[@]}"} \
    "$HALO" doctor --root system --user 4242 | sed 's/  group [^,]*/  group GROUP/; s/members of the group .*/members of the group GROUP./
      s/-aG [^ ]*/-aG GROUP/'
}
export -f gpu has library icd distribution examine

check doctor-help 'halo doctor --help'
check doctor-wrong 'halo doctor now; halo doctor --user me'

# Which command installs a driver, by maker and distribution, for each of these.
each_distribution() {
  local name
  for name in debian 'ubuntu debian' 'linuxmint ubuntu debian' fedora 'rocky rhel centos fedora' arch 'manjaro arch' \
    'opensuse-tumbleweed opensuse suse' void; do
    rm -rf system
    gpu 0000:01:00.0 "$@"
    for file in dri/renderD128 kfd nvidia0; do has /dev/$file; done
    distribution "${name%% *}" "${name#* }" "${name%% *}"
    examine | sed -n 's/^halo .* on //p; /^  *[0-9]\./,$p'
  done
}
export -f each_distribution
check doctor-install-nvidia 'each_distribution 0x10de 0x2684 nvidia'
check doctor-install-amd 'each_distribution 0x1002 0x744c amdgpu'
check doctor-install-intel 'each_distribution 0x8086 0x56a0 i915'

check doctor-nothing 'distribution debian "" "Debian 13"; examine'
check doctor-no-loader 'distribution fedora "" "Fedora"; icd pocl libpocl.so.2; library libpocl.so.2
  ( library() { :; }; examine )'
check doctor-missing-library 'icd nvidia libnvidia-opencl.so.1; gpu 0000:01:00.0 0x10de 0x2684 nvidia; has /dev/nvidia0; examine'
check doctor-empty-icd 'icd empty ""; examine'
check doctor-no-kernel-driver 'distribution ubuntu debian Ubuntu; gpu 0000:01:00.0 0x10de 0x2684; examine'
check doctor-nouveau 'distribution arch "" "Arch Linux"; gpu 0000:01:00.0 0x10de 0x2684 nouveau; has /dev/dri/renderD128; examine'
check doctor-no-nodes 'gpu 0000:01:00.0 0x10de 0x2684 nvidia; icd nvidia libnvidia-opencl.so.1; library libnvidia-opencl.so.1; examine'
check doctor-virtual-machine 'gpu 0000:01:00.0 0x1002 0x744c vfio-pci; examine'
check doctor-console 'gpu 0000:01:00.0 0x1a03 0x2000 ast; examine'
check doctor-render-group 'gpu 0000:03:00.0 0x8086 0x56a0 i915; has /dev/dri/renderD128 660; icd intel /usr/lib64/libigdrcl.so
  library libigdrcl.so; examine'
check doctor-rusticl 'gpu 0000:03:00.0 0x1002 0x744c amdgpu; has /dev/dri/renderD128; icd rusticl libRusticlOpenCL.so.1
  library libRusticlOpenCL.so.1; examine'
check doctor-rusticl-other 'with=(RUSTICL_ENABLE=iris); gpu 0000:03:00.0 0x1002 0x744c amdgpu; has /dev/dri/renderD128
  icd rusticl libRusticlOpenCL.so.1; library libRusticlOpenCL.so.1; examine'
check doctor-rusticl-enabled 'with=(RUSTICL_ENABLE=radeonsi); gpu 0000:03:00.0 0x1002 0x744c amdgpu; has /dev/dri/renderD128
  icd rusticl libRusticlOpenCL.so.1; library libRusticlOpenCL.so.1; examine'
check doctor-board 'mkdir -p system/sys/class/drm/renderD128/device
  ln -s ../../../bus/platform/drivers/panfrost system/sys/class/drm/renderD128/device/driver
  distribution debian "" Debian; has /dev/dri/renderD128; examine'

# Containers that were started without the GPU.
each_maker() {
  local maker
  for maker in '0x10de 0x2684 nvidia' '0x1002 0x744c amdgpu' '0x8086 0x56a0 i915'; do
    rm -rf system
    has "$1"
    # shellcheck disable=SC2086
    gpu 0000:01:00.0 $maker
    examine | sed -n '/^  *[0-9]\./,$p'
  done
}
export -f each_maker
check doctor-docker 'each_maker /.dockerenv'
check doctor-podman 'each_maker /run/.containerenv'
check doctor-apptainer 'each_maker /.singularity.d/env'
check doctor-kubernetes 'each_maker /var/run/secrets/kubernetes.io/serviceaccount/token'
check doctor-container-no-icd 'has /.dockerenv; gpu 0000:01:00.0 0x10de 0x2684 nvidia; has /dev/nvidia0; has /dev/nvidiactl; examine'

# A conda environment has a loader of its own, which does not see the system's drivers.
check doctor-conda 'with=(CONDA_PREFIX=/opt/conda); has /opt/conda/lib/libOpenCL.so.1; icd pocl libpocl.so.2; library libpocl.so.2
  examine'
check doctor-conda-system 'with=(CONDA_PREFIX=/opt/conda); has /opt/conda/lib/libOpenCL.so.1; icd pocl libpocl.so.2
  library libpocl.so.2; mkdir -p system/opt/conda/etc/OpenCL/vendors/ocl-icd-system; examine'
check doctor-conda-pocl 'with=(CONDA_PREFIX=/opt/conda); examine'

# Caches that cannot be written to.
check doctor-caches 'icd pocl libpocl.so.2; library libpocl.so.2; mkdir -p system/home/other; chmod 755 system/home/other
  with=(HOME=/home/other); examine'

# This system: what drivers say when they are loaded, and devices.
export HOME=$PWD HALO_CPU=off
only_here='unset HALO_DEVICE; mkdir drivers'
check doctor-broken-loader ': >libOpenCL.so.1; LD_LIBRARY_PATH=. OCL_ICD_VENDORS=/nonexistent halo doctor | sed -n "/^Loader/p; /roblem/,\$p"'
check doctor-no-folder 'OCL_ICD_VENDORS=/nonexistent halo doctor | sed -n "/^Drivers/p; /problem/,\$p"'
check doctor-no-file "$only_here"'; export OCL_ICD_VENDORS=$PWD/drivers; halo doctor | sed -n "/^Drivers/p; /problem/,\$p"'
check doctor-broken-driver "$only_here"'; echo libnothing.so.7 >drivers/nothing.icd; echo "$PWD/axpy.hlo" >drivers/text.icd
  echo libm.so.6 >drivers/other.icd; export OCL_ICD_VENDORS=$PWD/drivers; halo doctor | sed -n "/^Drivers/,/^Dev/p; /roblem/,\$p" | grep -v Platforms'
check doctor-icd-file 'echo libnothing.so.7 >one.icd; OCL_ICD_VENDORS=$PWD/one.icd halo doctor | sed -n "/^Drivers/p"'
check doctor-filenames 'OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES=libone.so:libtwo.so halo doctor | sed -n "/^Drivers/,/^Dev/p"'
check doctor-wrong-device 'HALO_DEVICE=no-such-device halo doctor | sed -n "/problem/,\$p" | sed "s/HALO_DEVICE=[0-9:]*/HALO_DEVICE=NUMBER/"'
check doctor-wrong-null 'HALO_DEVICE=null:nowhere.txt halo doctor | sed -n "/problem/,\$p"'
check doctor-null 'HALO_DEVICE=null:null.txt halo doctor | sed -n "/Programs/,\$p"'
check doctor-open-cache 'mkdir -m 777 cache; HALO_DEVICE=null:null.txt HALO_CACHE_DIR=cache halo doctor | sed -n "/kept:/,\$p"'
