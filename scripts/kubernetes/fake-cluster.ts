import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../e2e/support/free-port.ts'
import { workerRights } from '../../runtime/src/kubernetes/client/rights.ts'
import { root } from '../root.ts'
import { type ApiServer, startApiServer } from './api-server.ts'
import { controllerManagerArgs, schedulerArgs, shoalUser } from './control-plane.ts'
import { goModule } from './go-module.ts'
import { kwok } from './go-tool.ts'
import { runProgram } from './machine.ts'

type Part = 'apiServer' | 'etcd' | 'controllerManager' | 'scheduler' | 'kwok'

export type FakeCluster = Omit<ApiServer, 'processes'> & {
  processes: Record<Part, ChildProcess>
  /** The kubeconfig of a user with the rights of Shoal's worker. */
  shoalKubeconfig: string
  /** A file with one line of JSON for each completed request of this user. */
  requestLog: string
}

const readyTimeoutMs = 120_000
const stagesModule = 'sigs.k8s.io/kwok'
/**
 * The stages through which kwok takes nodes and pods, from its module. `pod-complete.yaml` is left out: it ends the pods of Jobs as soon as
 * they run, and processors run in Jobs.
 */
const stages = [
  'node/fast/node-initialize.yaml',
  'node/heartbeat-with-lease/node-heartbeat-with-lease.yaml',
  'pod/fast/pod-ready.yaml',
  'pod/fast/pod-delete.yaml',
]

/** Only the requests of Shoal's user, each once, when it is complete. */
const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [{ level: 'Metadata', users: [shoalUser] }, { level: 'None' }],
}

/**
 * Starts a control plane of Kubernetes on loopback ports, with nodes that only kwok simulates: pods are scheduled, and count as running,
 * but no program runs. Needs neither root nor the network of the test cluster. All processes end with this one, even if it is killed.
 * @param programs the paths of the programs built from `test/kube` and `test/kwok`
 * @throws with the end of the log if the nodes are not ready within two minutes
 */
export async function startFakeCluster(
  programs: { kube: string; kwok: string },
  nodeCount: number,
): Promise<FakeCluster> {
  const stageFile = await readStages()
  let requestLog = ''
  const api = await startApiServer(programs.kube, (folder) => {
    requestLog = join(folder, 'requests.log')
    const policy = join(folder, 'audit-policy.json')
    writeFileSync(policy, JSON.stringify(auditPolicy))
    // The file must not be rotated while its lines are counted.
    return [`--audit-policy-file=${policy}`, `--audit-log-path=${requestLog}`, '--audit-log-maxsize=4096']
  })
  try {
    const create = (items: object[]) => {
      const args = ['kubectl', '--kubeconfig', api.kubeconfig, 'create', '-f', '-']
      runProgram(programs.kube, args, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    }
    const listens = async () => ['--bind-address=127.0.0.1', `--secure-port=${await freePort()}`]
    const controllerManager = api.startPart(programs.kube, [...controllerManagerArgs(api.pki), ...(await listens())])
    const scheduler = api.startPart(programs.kube, [...schedulerArgs(api.pki), ...(await listens())])
    const config = join(api.folder, 'stages.yaml')
    writeFileSync(config, stageFile)
    const kwokArgs = [
      '--config',
      config,
      '--kubeconfig',
      api.kubeconfig,
      '--manage-all-nodes=true',
      '--node-lease-duration-seconds=40',
    ]
    const simulator = api.startPart(programs.kwok, [...kwokArgs, '--cidr=10.128.0.0/9'])
    const processes = { ...api.processes, controllerManager, scheduler, kwok: simulator }
    create([...rightsOf(shoalUser), ...Array.from({ length: nodeCount }, (_, index) => nodeObject(index))])
    await untilNodesReady(api, programs.kube, nodeCount, Object.values(processes))
    return { ...api, processes, shoalKubeconfig: join(api.pki, `${shoalUser}.conf`), requestLog }
  } catch (error) {
    const log = api.readLog()
    await api.end()
    throw new Error(`The simulated cluster did not start: ${(error as Error).message}\n${log}`, { cause: error })
  }
}

/** Returns a configuration of kwok with its stages, from the version of its module in `test/kwok/go.mod`. */
async function readStages(): Promise<string> {
  const modules = readFileSync(join(root, kwok.folder, 'go.mod'), 'utf8')
  const version = modules
    .split('\n')
    .flatMap((line) => line.trim().split(`${stagesModule} `)[1]?.split(' ')[0] ?? [])[0]
  const folder = await goModule(stagesModule, version ?? '')
  return stages.map((file) => readFileSync(join(folder, 'kustomize/stage', file), 'utf8')).join('\n---\n')
}

const nodeObject = (index: number): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: `node-${index}` },
  // 250 pods are the largest number that managed clusters allow on a node.
  status: Object.fromEntries(
    ['allocatable', 'capacity'].map((name) => [
      name,
      { cpu: '64', memory: '256Gi', 'ephemeral-storage': '1Ti', pods: '250' },
    ]),
  ),
})

/** Returns a role with the rights of Shoal's worker, and its binding to a user. */
function rightsOf(user: string): object[] {
  const apiGroup = 'rbac.authorization.k8s.io'
  const metadata = { name: user }
  const rules = workerRights.map(({ group, resource, subresource, verbs }) => ({
    apiGroups: [group],
    resources: [subresource ? `${resource}/${subresource}` : resource],
    verbs,
  }))
  return [
    { apiVersion: `${apiGroup}/v1`, kind: 'ClusterRole', metadata, rules },
    {
      apiVersion: `${apiGroup}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: user },
      subjects: [{ apiGroup, kind: 'User', name: user }],
    },
  ]
}

async function untilNodesReady(
  { kubeconfig }: ApiServer,
  kube: string,
  nodeCount: number,
  processes: ChildProcess[],
): Promise<void> {
  const ready = `jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}`
  const deadline = performance.now() + readyTimeoutMs
  for (;;) {
    const states = runProgram(kube, ['kubectl', '--kubeconfig', kubeconfig, 'get', 'nodes', '-o', ready]).split('\n')
    if (states.filter((state) => state === 'True').length >= nodeCount) return
    if (processes.some(({ exitCode }) => exitCode !== null)) throw new Error('a part of it ended')
    if (performance.now() > deadline) throw new Error('its nodes were not ready within two minutes')
    await delay(250)
  }
}
