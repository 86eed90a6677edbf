import type { ImageConfig } from './containerfile.ts'

/** The parts of a service in compose.yaml that define what its container may do. */
export type Service = { cap_add: string[]; security_opt: string[]; sysctls: Record<string, number>; pids_limit: number }

type Options = {
  image: ImageConfig
  service: Service
  files: string
  /** The folder of the data directory, the only volume. */
  volume: string
  networkPath: string
  cgroup: string
}

/** The capabilities that Docker gives to each container. */
const defaultCapabilities =
  'CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE'
/** The paths that Docker hides from each container, and those that it mounts read-only. */
const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
]
const readonlyPaths = ['bus', 'fs', 'irq', 'sys', 'sysrq-trigger'].map((name) => `/proc/${name}`)

/** Returns the configuration of a container for runc that Docker would create from this image and this service. */
export function containerSpec({ image, service, files, volume, networkPath, cgroup }: Options): object {
  if (!service.security_opt.includes('seccomp=unconfined'))
    throw new Error('compose.yaml has a system call filter, which this container lacks.')
  const capabilities = [...defaultCapabilities.split(' '), ...service.cap_add].map((name) => `CAP_${name}`)
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...image.env }
  const mount = (destination: string, type: string, ...options: string[]) => ({
    destination,
    type,
    source: type,
    options,
  })
  return {
    ociVersion: '1.0.2',
    hostname: 'shoal',
    root: { path: files },
    process: {
      user: { uid: 0, gid: 0 },
      cwd: '/',
      args: image.args,
      env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    },
    mounts: [
      mount('/proc', 'proc', 'nosuid', 'noexec', 'nodev'),
      mount('/dev', 'tmpfs', 'nosuid', 'strictatime', 'mode=755', 'size=65536k'),
      mount('/dev/pts', 'devpts', 'nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5'),
      mount('/dev/shm', 'tmpfs', 'nosuid', 'noexec', 'nodev', 'mode=1777', 'size=65536k'),
      mount('/dev/mqueue', 'mqueue', 'nosuid', 'noexec', 'nodev'),
      mount('/sys', 'sysfs', 'nosuid', 'noexec', 'nodev', 'ro'),
      mount('/sys/fs/cgroup', 'cgroup', 'nosuid', 'noexec', 'nodev', 'ro'),
      { destination: image.volumes[0], type: 'bind', source: volume, options: ['rbind', 'rw'] },
      {
        destination: '/run/systemd/resolve/resolv.conf',
        type: 'bind',
        source: '/etc/resolv.conf',
        options: ['bind', 'ro'],
      },
    ],
    linux: {
      namespaces: [
        { type: 'pid' },
        { type: 'ipc' },
        { type: 'uts' },
        { type: 'mount' },
        { type: 'network', path: networkPath },
      ],
      cgroupsPath: `/${cgroup}`,
      resources: { pids: { limit: service.pids_limit }, devices: [{ allow: false, access: 'rwm' }] },
      sysctl: Object.fromEntries(Object.entries(service.sysctls).map(([name, value]) => [name, String(value)])),
      maskedPaths,
      readonlyPaths,
    },
  }
}
