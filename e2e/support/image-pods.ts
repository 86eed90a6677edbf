import { applyObjects, kubectl, tryKubectl } from './kubernetes.ts'
import { until } from './until.ts'

export type ImagePod = {
  namespace: string
  name: string
  image: string
  args: string[]
  env?: Record<string, string>
  /** The limit as a Kubernetes quantity, such as `64Mi`. Default: unlimited. */
  memory?: string
}

/** Creates a pod that runs the image's entrypoint with `args`. It meets Pod Security's level "restricted", and its root file system is read-only. */
export async function startImagePod({ namespace, name, image, args, env = {}, memory }: ImagePod): Promise<void> {
  const securityContext = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const variables = Object.entries({ HOME: '/tmp', ...env }).map(([key, value]) => ({ name: key, value }))
  await applyObjects({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 30,
      containers: [
        {
          name: 'main',
          image,
          args,
          env: variables,
          securityContext,
          resources: memory === undefined ? {} : { limits: { memory } },
          volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
        },
      ],
      volumes: [{ name: 'tmp', emptyDir: {} }],
    },
  })
}

/** How a pod's container ended. `message`: the termination message that its first process wrote. */
export type PodEnd = { exitCode: number; message?: string; output: string }

/** Waits for the end of the pod. @throws with the pod's description if it does not end within two minutes */
export async function endOfPod(namespace: string, name: string): Promise<PodEnd> {
  const read = async (): Promise<{ phase: string; containerStatuses?: { state: { terminated?: PodEnd } }[] }> =>
    JSON.parse(await kubectl(['get', 'pod', '-n', namespace, name, '-o', 'jsonpath={.status}'])) as never
  try {
    const end = await until(
      async () => (await read()).containerStatuses?.[0]?.state.terminated,
      `${name} ends`,
      120_000,
    )
    return { ...end, output: await kubectl(['logs', '-n', namespace, name]) }
  } catch (error) {
    throw new Error((await tryKubectl(['describe', 'pod', '-n', namespace, name])).output, { cause: error })
  }
}

/** Waits until the pod is ready, and returns its IP address. */
export async function addressOfPod(namespace: string, name: string): Promise<string> {
  await kubectl(['wait', '-n', namespace, '--for=condition=Ready', '--timeout=60s', `pod/${name}`])
  return await kubectl(['get', 'pod', '-n', namespace, name, '-o', 'jsonpath={.status.podIP}'])
}
