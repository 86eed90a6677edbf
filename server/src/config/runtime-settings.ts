import { drivers, type DriverName } from '@shoal/runtime'
import { isIP, isIPv4 } from 'node:net'
import { z } from 'zod'
import { hasuraSettings } from './hasura-settings.ts'
import type { SquidServer } from './database-settings.ts'
import { InvalidSettingError, invalidSettingMessage } from './invalid-setting.ts'

const driverNames = Object.keys(drivers) as [DriverName, ...DriverName[]]

/** Settings that determine where squids run. */
export const runtimeSettings = {
  SHOAL_RUNTIME: z
    .enum(driverNames)
    .default('process')
    .describe(`Where squids run: ${driverNames.map((name) => `\`${name}\` ${drivers[name]}`).join(', ')}.`),
  SHOAL_KUBECONFIG: z
    .string()
    .optional()
    .describe(
      'Kubeconfig of the cluster for SHOAL_RUNTIME=kubernetes. Unset: KUBECONFIG, `~/.kube/config`, or the service account of the pod that Shoal runs in.',
    ),
  SHOAL_KUBE_GATEWAYS: z
    .string()
    .default('')
    .describe(
      'The sources of the gateways’ connections to pods: IPv4 addresses, CIDRs or `namespace:NAME`, separated by commas. Required with SHOAL_RUNTIME=kubernetes.',
    ),
  SHOAL_KUBE_QUOTA: z
    .string()
    .default('pods=100,limits.cpu=64,limits.memory=128Gi')
    .describe(
      "Limits of each organization's namespace, as in a ResourceQuota. An update runs two generations of a version.",
    ),
  SHOAL_KUBE_CPU_RATIO: z.coerce
    .number()
    .positive()
    .max(1)
    .default(0.25)
    .describe(
      'CPU that is reserved for a pod, as a share of the CPU of its profile. Memory is always reserved as a whole.',
    ),
  SHOAL_KUBE_RUNTIME_CLASS: z
    .string()
    .optional()
    .describe('RuntimeClass of pods of squids, for example of gVisor or Kata. Unset: the default of the cluster.'),
  SHOAL_KUBE_PULL_AUTH_FILE: z
    .string()
    .optional()
    .describe(
      "File in the format of Docker's `config.json` with credentials that may pull images and nothing else. It is stored as a Secret in each organization's namespace. Unset: none.",
    ),
  SHOAL_KUBE_KUBELET_CA_FILE: z
    .string()
    .optional()
    .describe(
      "File with the certificate authority of the nodes' kubelets, which report the usage of programs. Unset: the certificate authority of the cluster.",
    ),
  SHOAL_KUBE_BUILDS: z
    .enum(['jobs', 'host'])
    .default('jobs')
    .describe(
      "Where the programs of builds run with SHOAL_RUNTIME=kubernetes: `jobs` as Jobs in the organizations' namespaces, `host` on the worker's host.",
    ),
  SHOAL_KUBE_BUILDS_LISTEN: z
    .string()
    .optional()
    .describe(
      'Address and port where the worker exchanges source and results with these Jobs, such as `10.0.0.5:4321`. Pods must reach this address. Unset: the address from which the worker connects to the cluster, and any free port.',
    ),
  SHOAL_KUBE_LOGS_LISTEN: z
    .string()
    .optional()
    .describe(
      'Address and port where the worker receives the logs of pods from OpenTelemetry Collectors on the nodes, such as `0.0.0.0:4319` (see `docs/kubernetes.md`). Unset: logs are read through the API server, and the last lines of deleted pods are lost.',
    ),
  SHOAL_KUBE_LOGS_TOKEN: z
    .string()
    .min(24)
    .optional()
    .describe('Bearer token of these collectors, at least 24 characters. Required with SHOAL_KUBE_LOGS_LISTEN.'),
  ...hasuraSettings,
} satisfies Record<string, z.ZodType>

type Values = z.output<z.ZodObject<typeof runtimeSettings>> & {
  SHOAL_REGISTRY?: string | undefined
  SHOAL_GATEWAY_URL?: string | undefined
  DATABASE_URL?: string | undefined
  SHOAL_ON_EXIT: 'stop' | 'keep'
}

export type KubernetesSettings = {
  /** Null: the file that KUBECONFIG names, `~/.kube/config`, or the service account of the pod. */
  kubeconfig: string | null
  /** Null: the certificate authority of the cluster. */
  kubeletCaFile: string | null
  /** Where collectors send logs; null: logs are read through the API server. */
  logListener: { host: string; port: number; token: string } | null
  builds: 'jobs' | 'host'
  /** Where Jobs of builds reach the worker; null: see `openJobBuilder`. */
  buildListener: { host: string; port: number } | null
  /** The sources of the gateways' connections to pods. */
  gateways: ({ cidr: string } | { namespace: string })[]
  quota: Record<string, string>
  /** The share of the CPU of a profile that is reserved for a pod. */
  cpuRequestRatio: number
  runtimeClass: string | null
  pullAuthFile: string | null
}

/** Returns the settings of the cluster; null if squids run elsewhere. @throws InvalidSettingError */
export function parseKubernetesSettings(values: Values, squidServers: SquidServer[]): KubernetesSettings | null {
  if (values.SHOAL_RUNTIME !== 'kubernetes') return null
  if (values.SHOAL_REGISTRY === undefined) refuse('SHOAL_REGISTRY', '', 'set: nodes pull the images of squids from it')
  const databases = squidServers.length > 0 ? squidServers.map(({ url }) => url) : [values.DATABASE_URL]
  if (databases.some((url) => url === undefined || isLoopback(url)))
    refuse('SHOAL_SQUIDS_DATABASE_URL', '', 'a Postgres at an address that pods can reach')
  if (values.SHOAL_GATEWAY_URL === undefined || isLoopback(values.SHOAL_GATEWAY_URL))
    refuse('SHOAL_GATEWAY_URL', values.SHOAL_GATEWAY_URL ?? '', 'a URL that pods can reach, for their RPC requests')
  if (values.SHOAL_ON_EXIT === 'stop')
    refuse('SHOAL_ON_EXIT', 'stop', '"keep": a server does not own the pods of a cluster')
  return {
    kubeconfig: values.SHOAL_KUBECONFIG ?? null,
    gateways: parseGateways(values.SHOAL_KUBE_GATEWAYS),
    quota: parseQuota(values.SHOAL_KUBE_QUOTA),
    cpuRequestRatio: values.SHOAL_KUBE_CPU_RATIO,
    runtimeClass: values.SHOAL_KUBE_RUNTIME_CLASS ?? null,
    pullAuthFile: values.SHOAL_KUBE_PULL_AUTH_FILE ?? null,
    kubeletCaFile: values.SHOAL_KUBE_KUBELET_CA_FILE ?? null,
    builds: values.SHOAL_KUBE_BUILDS,
    buildListener: parseListener('SHOAL_KUBE_BUILDS_LISTEN', values.SHOAL_KUBE_BUILDS_LISTEN),
    logListener: parseLogListener(values.SHOAL_KUBE_LOGS_LISTEN, values.SHOAL_KUBE_LOGS_TOKEN),
  }
}

function refuse(name: string, value: string, allowed: string): never {
  const sentence = `${allowed} (with SHOAL_RUNTIME=kubernetes)`
  throw new InvalidSettingError(
    value === '' ? `${name} must be ${sentence}.` : invalidSettingMessage(name, value, sentence),
  )
}

/** Whether a URL, which may contain `{org}`, has no host, `localhost` or a loopback address. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url.replaceAll('{org}', 'org'))
  return hostname === '' || hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}

const namespacePattern = /^namespace:([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$/

function parseGateways(text: string): KubernetesSettings['gateways'] {
  const parts = partsOf(text)
  if (parts.length === 0) refuse('SHOAL_KUBE_GATEWAYS', text, 'at least one IPv4 address, CIDR or `namespace:NAME`')
  return parts.map((part) => {
    const namespace = namespacePattern.exec(part)?.[1]
    if (namespace !== undefined) return { namespace }
    const [address = '', bits = '32'] = part.split('/')
    if (!isIPv4(address) || !/^\d{1,2}$/.test(bits) || Number(bits) > 32)
      refuse('SHOAL_KUBE_GATEWAYS', text, 'a list of IPv4 addresses, CIDRs or `namespace:NAME`')
    return { cidr: `${address}/${bits}` }
  })
}

function parseLogListener(address: string | undefined, token: string | undefined): KubernetesSettings['logListener'] {
  const listener = parseListener('SHOAL_KUBE_LOGS_LISTEN', address)
  if (listener === null) return null
  if (token === undefined) refuse('SHOAL_KUBE_LOGS_TOKEN', '', 'set, as SHOAL_KUBE_LOGS_LISTEN is')
  return { ...listener, token }
}

function parseListener(name: string, address: string | undefined): { host: string; port: number } | null {
  if (address === undefined) return null
  const [, host = '', port = ''] = /^\[?([^\]]*)\]?:(\d{1,5})$/.exec(address) ?? []
  if (isIP(host) === 0 || Number(port) > 65_535)
    refuse(name, address, 'an IP address and a port, such as `0.0.0.0:4319`')
  return { host, port: Number(port) }
}

function parseQuota(text: string): Record<string, string> {
  const entries = partsOf(text).map((part) => part.split('='))
  if (entries.some((entry) => entry.length !== 2 || entry.includes('')))
    refuse('SHOAL_KUBE_QUOTA', text, 'a list such as `pods=100,limits.cpu=64`')
  return Object.fromEntries(entries.map(([name = '', limit = '']) => [name, limit]))
}

const partsOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
