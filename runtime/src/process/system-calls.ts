/** Numbers of the system calls that the filter of squids refuses or restricts: on x86-64 and on arm64; null: arm64 does not have the call. */
export const systemCalls = {
  socket: [41, 198],
  fallocate: [285, 47],
  ioctl: [16, 29],
  clone: [56, 220],
  clone3: [435, 435],

  // Namespaces and mounts
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],

  // Code in the kernel
  bpf: [321, 280],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  create_module: [174, null],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],

  // Observing other processes and the kernel
  perf_event_open: [298, 241],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  lookup_dcookie: [212, 18],
  syslog: [103, 116],
  fanotify_init: [300, 262],

  // Keys, which belong to users of the host
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],

  // Parts of the kernel with a history of vulnerabilities
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  move_pages: [279, 239],
  migrate_pages: [256, 238],
  modify_ldt: [154, null],
  uselib: [134, null],

  // Administration of the host
  open_by_handle_at: [304, 265],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  acct: [163, 89],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  vhangup: [153, 58],
  iopl: [172, null],
  ioperm: [173, null],
  nfsservctl: [180, 42],
  sysfs: [139, null],
} satisfies Record<string, readonly [number, number | null]>

export type SystemCall = keyof typeof systemCalls

/** The number of `removexattrat`, on both machines. Newer calls, for which this list was not checked, are not available to squids. */
export const NEWEST_SYSTEM_CALL = 466
