import type { ContainerName, ContainerSpec, Workload } from '../../driver.ts'
import { annotations, labels, labelValue, podContainerName } from '../names.ts'
import { SERVICE_ACCOUNT } from './tenant-objects.ts'

export type PodOptions = {
  /** `requests.cpu` as a share of the limit. */
  cpuRequestRatio: number
  /** Null: the cluster's default. */
  runtimeClass: string | null
  /** Disk space for the files of each program in bytes; 0: unlimited. */
  containerDiskBytes: number
}

/** Share of the memory limit that the V8 heap may use, so that Node reports a full heap before the kernel kills the process. */
const HEAP_SHARE = 0.7
const HOME = '/squid-home'
const MIB = 1024 * 1024
/** The cluster starts the api of a lost node on another node after this time. */
const TOLERATED_SECONDS = 30

/** The security context of all containers that run the code of squids: Pod Security `restricted`, and a read-only image. */
export const restrictedContainer = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}

/** Returns the parts of the specification of all pods that run the code of squids: no credentials, and Pod Security `restricted`. */
export const restrictedPod = ({ runtimeClass }: Pick<PodOptions, 'runtimeClass'>) => ({
  serviceAccountName: SERVICE_ACCOUNT,
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  ...(runtimeClass === null ? {} : { runtimeClassName: runtimeClass }),
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 1000,
    runAsGroup: 1000,
    fsGroup: 1000,
    seccompProfile: { type: 'RuntimeDefault' },
  },
})

/** The size of a container. `diskBytes` 0: unlimited. */
type ContainerSize = { cpuCores: number; memoryBytes: number; diskBytes: number }

/** Returns the limits and requests of a container. */
export function containerResources(
  { cpuCores, memoryBytes, diskBytes }: ContainerSize,
  { cpuRequestRatio }: Pick<PodOptions, 'cpuRequestRatio'>,
) {
  // Without a request, Kubernetes would reserve the whole limit on the node.
  const disk = diskBytes === 0 ? [{}, {}] : [String(diskBytes), '64Mi'].map(ephemeralStorage)
  return {
    limits: { cpu: millicores(cpuCores), memory: String(memoryBytes), ...disk[0] },
    requests: { cpu: millicores(cpuCores * cpuRequestRatio), memory: String(memoryBytes), ...disk[1] },
  }
}

/** Returns an empty folder of a pod. `diskBytes` 0: unlimited. */
export const emptyFolder = (diskBytes: number) => (diskBytes === 0 ? {} : { sizeLimit: String(diskBytes) })

/** Returns the complete environment of a container: its own variables, and those that the driver adds. */
export function podEnvironment({ env, resources, provided }: ContainerSpec): Record<string, string> {
  const { PATH: _, ...own } = env
  if (provided) return { ...own, HOME }
  const heapMiB = Math.max(16, Math.floor((resources.memoryBytes * HEAP_SHARE) / MIB))
  return {
    // `npx` must not download and run a package that the squid does not depend on: anyone may register its name.
    npm_config_yes: 'false',
    ...own,
    HOME,
    NODE_OPTIONS: [`--max-old-space-size=${heapMiB}`, env['NODE_OPTIONS']].filter(Boolean).join(' '),
  }
}

type PodTemplateParts = {
  podLabels: Record<string, string>
  /** The name of the Secret with the environment. */
  secret: string
}

/** Returns the pod template of a container. */
export function podTemplate(
  workload: Workload,
  spec: ContainerSpec,
  { podLabels, secret }: PodTemplateParts,
  options: PodOptions,
): object {
  const { cpuCores, memoryBytes } = spec.resources
  const { containerDiskBytes: diskBytes } = options
  const emptyDir = emptyFolder(diskBytes)
  const [port] = spec.ports
  return {
    metadata: {
      labels: podLabels,
      annotations: { [annotations.workload]: workload.id, [annotations.container]: spec.name },
    },
    spec: {
      restartPolicy: { never: 'Never', 'on-failure': 'OnFailure', always: 'Always' }[spec.restart],
      terminationGracePeriodSeconds: Math.max(1, Math.ceil(spec.stopGraceMs / 1000)),
      ...restrictedPod(options),
      ...(spec.restart === 'always' ? { tolerations: lostNodeTolerations } : {}),
      ...spreadOverNodes(workload, spec),
      containers: [
        {
          name: podContainerName(spec.name),
          ...imageAndArguments(workload, spec),
          envFrom: [{ secretRef: { name: secret } }],
          ports: spec.ports.map((containerPort) => ({ containerPort, protocol: 'TCP' })),
          resources: containerResources({ cpuCores, memoryBytes, diskBytes }, options),
          // Gateways read from the result of the readiness probe whether the program listens.
          ...(port === undefined
            ? {}
            : { readinessProbe: { tcpSocket: { port }, periodSeconds: 1, failureThreshold: 3 } }),
          securityContext: restrictedContainer,
          volumeMounts: [
            { name: 'tmp', mountPath: '/tmp' },
            { name: 'home', mountPath: HOME },
          ],
        },
      ],
      volumes: [
        { name: 'tmp', emptyDir },
        { name: 'home', emptyDir },
      ],
    },
  }
}

/** The entrypoint of a workload's image is its init, which runs the command. A provided image has its own default command. */
const imageAndArguments = (workload: Pick<Workload, 'image'>, { command, provided }: ContainerSpec) =>
  provided && 'image' in provided
    ? { image: provided.image, ...(command.length > 0 ? { args: command } : {}) }
    : { image: workload.image, args: command }

/** The replicas of a program prefer different nodes, so that a lost node stops only some of them. */
function spreadOverNodes({ id, containers }: Workload, { restart, ports }: ContainerSpec) {
  const replicas = containers.filter((other) => other.restart === restart && other.ports[0] === ports[0])
  if (restart !== 'always' || replicas.length < 2) return {}
  const names = replicas.map(({ name }): ContainerName => labelValue(name))
  return {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: {
          matchLabels: { [labels.workload]: labelValue(id) },
          matchExpressions: [{ key: labels.container, operator: 'In', values: names }],
        },
      },
    ],
  }
}

const ephemeralStorage = (size: string) => ({ 'ephemeral-storage': size })

const millicores = (cores: number): string => `${Math.max(1, Math.round(cores * 1000))}m`

const lostNodeTolerations = ['not-ready', 'unreachable'].map((condition) => ({
  key: `node.kubernetes.io/${condition}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: TOLERATED_SECONDS,
}))
