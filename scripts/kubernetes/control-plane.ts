import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Machine, insideDebian, insideFolder, insideKube, insidePki, runProgram } from './machine.ts'
import { controlAddress, nodes, serviceRange } from './network.ts'

export const registryAddress = `${controlAddress}:5000`
export const apiServerUrl = `https://${controlAddress}:6443`

type Identity = { file: string; user: string; group?: string; addresses?: string[] }

const masters = 'system:masters'
/** A user without rights, and the name of its kubeconfig. The log of requests of a cluster for benchmarks has only those of this user. */
export const shoalUser = 'shoal'

const identities: Identity[] = [
  {
    file: 'apiserver',
    user: 'kube-apiserver',
    addresses: ['127.0.0.1', controlAddress, '10.96.0.1', 'localhost', 'kubernetes'],
  },
  { file: 'apiserver-kubelet', user: 'apiserver-kubelet', group: masters },
  { file: 'admin', user: 'admin', group: masters },
  { file: 'controller-manager', user: 'system:kube-controller-manager' },
  { file: 'scheduler', user: 'system:kube-scheduler' },
  { file: shoalUser, user: shoalUser },
  ...nodes.map(({ name, address }) => ({
    file: name,
    user: `system:node:${name}`,
    group: 'system:nodes',
    addresses: [name, address],
  })),
]

/** Writes certificates, keys and kubeconfigs to a folder. */
export function writeCertificates(kube: string, folder: string, server: string): void {
  const args = identities.flatMap(({ file, user, group = '', addresses = [] }) => [
    '--identity',
    [file, user, group, addresses.join(',')].join(';'),
  ])
  runProgram(kube, ['certificates', '--folder', folder, '--server', server, ...args])
}

/** Returns the arguments of etcd, which does not sync its data to disk, since a test cluster need not survive a crash of its host. */
export function etcdArgs(folder: string, clientUrl: string, peerUrl: string): string[] {
  return [
    'etcd',
    `--data-dir=${folder}`,
    '--unsafe-no-fsync',
    '--log-level=error',
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
  ]
}

/** Returns the arguments of the API server. @param pki the folder of the certificates */
export function apiServerArgs(pki: string, etcdUrl: string, address: string, port: number): string[] {
  return [
    'kube-apiserver',
    `--etcd-servers=${etcdUrl}`,
    `--advertise-address=${address}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${pki}/apiserver.crt`,
    `--tls-private-key-file=${pki}/apiserver.key`,
    `--client-ca-file=${pki}/ca.crt`,
    `--kubelet-client-certificate=${pki}/apiserver-kubelet.crt`,
    `--kubelet-client-key=${pki}/apiserver-kubelet.key`,
    `--kubelet-certificate-authority=${pki}/ca.crt`,
    '--kubelet-preferred-address-types=InternalIP',
    `--service-account-key-file=${pki}/service-accounts.pub`,
    `--service-account-signing-key-file=${pki}/service-accounts.key`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction,PodSecurity,ResourceQuota,LimitRanger',
    `--service-cluster-ip-range=${serviceRange}`,
    '--allow-privileged=true',
  ]
}

/** Starts etcd, the API server and the registry. `folder` has the cluster's files. */
export function startControlPlane(machine: Machine, folder: string): void {
  const etcdUrl = 'http://127.0.0.1:2379'
  machine.startPart('etcd', insideKube, etcdArgs(`${insideFolder}/etcd`, etcdUrl, 'http://127.0.0.1:2380'))
  machine.startPart('apiserver', insideKube, apiServerArgs(insidePki, etcdUrl, controlAddress, 6443))
  writeFileSync(join(folder, 'registry/config.yaml'), registryConfig())
  const registry = `${insideDebian}/docker-registry/usr/bin/docker-registry`
  machine.startPart('registry', registry, ['serve', `${insideFolder}/registry/config.yaml`], {
    OTEL_TRACES_EXPORTER: 'none',
  })
}

function registryConfig(): string {
  return `version: 0.1
log: {level: warn}
storage: {filesystem: {rootdirectory: ${insideFolder}/registry/images}, delete: {enabled: true}}
http: {addr: "${registryAddress}"}
`
}

/** Returns the arguments of the controllers. @param pki the folder of the certificates */
export function controllerManagerArgs(pki: string): string[] {
  return [
    'kube-controller-manager',
    ...clientArgs(pki, 'controller-manager'),
    `--service-account-private-key-file=${pki}/service-accounts.key`,
    `--root-ca-file=${pki}/ca.crt`,
    `--cluster-signing-cert-file=${pki}/ca.crt`,
    `--cluster-signing-key-file=${pki}/ca.key`,
    '--use-service-account-credentials=true',
    '--controllers=*',
    '--allocate-node-cidrs=false',
  ]
}

/** Returns the arguments of the scheduler. @param pki the folder of the certificates */
export const schedulerArgs = (pki: string): string[] => ['kube-scheduler', ...clientArgs(pki, 'scheduler')]

const clientArgs = (pki: string, name: string): string[] => [
  ...['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map(
    (flag) => `--${flag}=${pki}/${name}.conf`,
  ),
  '--leader-elect=false',
  '--kube-api-qps=500',
  '--kube-api-burst=1000',
]

/** Starts the controllers and the scheduler; the API server must be ready. A node counts as lost after ten seconds without contact. */
export function startControllers(machine: Machine): void {
  const args = [...controllerManagerArgs(insidePki), '--node-monitor-grace-period=10s']
  machine.startPart('controller-manager', insideKube, args)
  machine.startPart('scheduler', insideKube, schedulerArgs(insidePki))
}
