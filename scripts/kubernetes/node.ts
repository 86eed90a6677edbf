import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { registryAddress } from './control-plane.ts'
import { type Machine, insideDebian, insideKube, insideNode, insidePki, pauseSync } from './machine.ts'
import type { NodeAddresses } from './network.ts'

/** The image of `test/kube/pod`. It is also the pause image, whose container keeps the namespaces of a pod. */
export const podImage = `${registryAddress}/shoal/pod:1`

const containerdSocket = '/run/containerd/containerd.sock'
const cgroups = '/sys/fs/cgroup'
const cgroupOf = (node: string) => `shoal-test-${node}`

/** Writes the settings of a node's parts to its folder, which its machine mounts at `insideNode`. */
export function writeNodeConfig({ name, podRange }: NodeAddresses, folder: string): void {
  const write = (path: string, text: string) => {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  for (const disk of ['kubelet', 'containerd']) mkdirSync(join(folder, 'disk', disk), { recursive: true })
  write('cni/10-pods.conflist', cniConfig(podRange))
  write(`registries/${registryAddress}/hosts.toml`, registryHosts(registryAddress))
  write('containerd.toml', containerdConfig())
  write('kubelet.yaml', kubeletConfig(name))
}

/** Creates the node's cgroup in every hierarchy: kubelet exits if one is missing. */
export function createCgroup(node: string): void {
  for (const hierarchy of hierarchies()) {
    const folder = join(hierarchy, cgroupOf(node))
    mkdirSync(folder, { recursive: true })
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (existsSync(join(folder, file))) writeFileSync(join(folder, file), readFileSync(join(hierarchy, file)))
    }
  }
}

/** Removes the node's cgroups. @throws if they still have processes after ten seconds */
export function removeCgroup(node: string): void {
  const deadline = performance.now() + 10_000
  const remove = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) remove(join(folder, entry.name))
    }
    rmdirSync(folder)
  }
  for (const folder of cgroupsOf(node)) {
    while (existsSync(folder)) {
      try {
        remove(folder)
      } catch (error) {
        if (performance.now() > deadline) throw error
        pauseSync(20)
      }
    }
  }
}

/** Returns the paths of the node's cgroups that exist. */
export function cgroupsOf(node: string): string[] {
  return hierarchies()
    .map((hierarchy) => join(hierarchy, cgroupOf(node)))
    .filter((path) => existsSync(path))
}

/** Returns the folders of all hierarchies of cgroup v1, or of the only one of v2. */
function hierarchies(): string[] {
  if (existsSync(join(cgroups, 'cgroup.controllers'))) return [cgroups]
  const entries = readdirSync(cgroups, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(cgroups, name))
}

/** Starts containerd, which does not use the API server. */
export function startContainerd(machine: Machine): void {
  const folder = `${insideDebian}/containerd/usr/bin`
  const path = [folder, `${insideDebian}/runc/usr/sbin`, '/usr/sbin:/usr/bin:/sbin:/bin'].join(':')
  machine.startPart('containerd', `${folder}/containerd`, ['--config', `${insideNode}/containerd.toml`], { PATH: path })
}

/** Returns whether containerd listens. kubelet exits if it does not. */
export function isContainerdReady(machine: Machine): boolean {
  return existsSync(`/proc/${machine.pid}/root${containerdSocket}`)
}

/** Starts the parts of a node that use the API server. */
export function startNode(machine: Machine, { name, address, podRange }: NodeAddresses): void {
  const kubeconfig = (file: string) => `--kubeconfig=${insidePki}/${file}.conf`
  machine.startPart('policies', insideKube, [
    'enforce-policies',
    kubeconfig('admin'),
    `--node=${name}`,
    `--pod-range=${podRange}`,
    '-v=1',
  ])
  machine.startPart('proxy', insideKube, proxyArgs(name))
  machine.startPart('kubelet', insideKube, [
    'kubelet',
    kubeconfig(name),
    `--config=${insideNode}/kubelet.yaml`,
    `--hostname-override=${name}`,
    `--node-ip=${address}`,
    '--volume-plugin-dir=/var/lib/kubelet/volume-plugins',
  ])
}

/** Returns the arguments of kube-proxy, through which pods and nodes reach services. It keeps the kernel's connection limits, which it has no right to change. */
function proxyArgs(name: string): string[] {
  return [
    'kube-proxy',
    `--kubeconfig=${insidePki}/admin.conf`,
    `--hostname-override=${name}`,
    '--proxy-mode=nftables',
    '--cluster-cidr=10.90.0.0/16',
    '--conntrack-max-per-core=0',
    '--conntrack-min=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
    '--healthz-bind-address=127.0.0.1:10256',
    '--metrics-bind-address=127.0.0.1:10249',
  ]
}

function cniConfig(podRange: string): string {
  const ipam = {
    type: 'host-local',
    dataDir: '/var/lib/cni/addresses',
    ranges: [[{ subnet: podRange }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  return JSON.stringify({ cniVersion: '0.4.0', name: 'pods', plugins: [{ type: 'ptp', mtu: 1500, ipam }] })
}

/** Returns the settings with which containerd accepts a registry without TLS. */
export function registryHosts(address: string): string {
  return `server = "http://${address}"
[host."http://${address}"]
  capabilities = ["pull", "resolve"]
`
}

/** Returns the settings of containerd. Without CAP_SYS_RESOURCE, every pod would fail without `restrict_oom_score_adj`, because its pause container requests a lower score. */
function containerdConfig(): string {
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${podImage}"
  restrict_oom_score_adj = true
  disable_tcp_service = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${insideNode}/registries"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${insideDebian}/containernetworking-plugins/usr/lib/cni"
    conf_dir = "${insideNode}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`
}

function kubeletConfig(node: string): string {
  return JSON.stringify({
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${insidePki}/ca.crt` },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: `${insidePki}/${node}.crt`,
    tlsPrivateKeyFile: `${insidePki}/${node}.key`,
    address: '0.0.0.0',
    readOnlyPort: 0,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroupOf(node)}`,
    cgroupsPerQOS: true,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    failCgroupV1: false,
    // kubelet has no right to change the kernel's settings and limits. With this feature gate, it only logs that.
    featureGates: { KubeletInUserNamespace: true },
    makeIPTablesUtilChains: false,
    evictionHard: {},
    imageGCHighThresholdPercent: 100,
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    nodeStatusUpdateFrequency: '2s',
    // Small files and short intervals, so that logs rotate during a test.
    containerLogMaxSize: '1Mi',
    containerLogMonitorInterval: '3s',
    resolvConf: '',
  })
}
