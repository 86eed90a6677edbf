import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { contract, createClient } from '../../../../contract/src/index.ts'
import type { Workload } from '../../../../runtime/src/index.ts'
import type { WorkerApp } from '../../../../server/src/app.ts'
import { createGateway } from '../../../../server/src/gateway/gateway.ts'
import { createHttpApp } from '../../../../server/src/http/app.ts'
import { metricsOf } from '../../../../server/src/health/metrics.ts'
import { startHeartbeat } from '../../../../server/src/installation/heartbeat.ts'
import type { Job } from '../../../../server/src/jobs/jobs.ts'
import { mailJobs } from '../../../../server/src/mail/index.ts'
import { channelJobs, queueDeliveriesWithoutJob, startAlerts } from '../../../../server/src/modules/alerts/index.ts'
import { authJobs } from '../../../../server/src/modules/auth/index.ts'
import { startBilling } from '../../../../server/src/modules/billing/index.ts'
import {
  certificateJobs,
  findCertificate,
  findChallengeCertificate,
  findKeyAuthorization,
  startCertificates,
} from '../../../../server/src/modules/certificates/index.ts'
import {
  removalJobs,
  defaultIntervals,
  startEngine,
  startReconcile,
} from '../../../../server/src/modules/deployments/index.ts'
import { startDomains } from '../../../../server/src/modules/domains/index.ts'
import { startLogIngest } from '../../../../server/src/modules/logs/index.ts'
import { startSampling } from '../../../../server/src/modules/metrics/index.ts'
import { startObserving } from '../../../../server/src/modules/observing/index.ts'
import { publicPagesOf, runStatusRound } from '../../../../server/src/modules/statuspage/index.ts'
import { userJobs } from '../../../../server/src/modules/user/index.ts'
import { retentionJobs } from '../../../../server/src/startup/retention.ts'
import { createFactories, type TestUser } from '../../../../server/src/testing/make.ts'
import { solveBotCheck } from '../../../../server/src/testing/solve-challenge.ts'
import { callChanges, callReads, type OrgUnderTest } from './calls.ts'
import { deployAndChange } from './deployments.ts'
import type { PlanRecorder } from './recorder.ts'
import { samplePassword } from './samples.ts'
import { callForMissingServices, signInWithProvider } from './services.ts'

const maxWaitMs = 600_000
/** The slug of a status page that `fill-status-pages.ts` inserts. */
const statusPageSlug = 'status-1'

type Closable = { close: () => Promise<unknown> }

/**
 * Runs every background loop, job and endpoint of a filled installation at least once, and records the statements of each under its name.
 * Returns the loops that did not complete a round in time.
 */
export async function runEverything(app: WorkerApp, recorder: PlanRecorder): Promise<string[]> {
  await using stack = new AsyncDisposableStack()
  const startRecorded = <T extends Closable>(caller: string, start: () => T): T => {
    const running = recorder.as(caller, start)
    stack.defer(async () => void (await running.close()))
    return running
  }
  const orgsUnderTest = await makeOrgsUnderTest(app)
  await startContainers(app)
  recorder.start()
  stack.defer(() => recorder.stop())

  const engine = startRecorded('deploy engine', () => startEngine(app, defaultIntervals))
  const loops = {
    reconcile: () => startReconcile(engine.worker, engine.locks),
    observing: () => startObserving(app),
    'log ingest': () => startLogIngest(app),
    sampling: () => startSampling(app),
    billing: () => startBilling(app),
    alerts: () => startAlerts(app, () => runStatusRound(app)),
    certificates: () => startCertificates(app),
    domains: () => startDomains(app),
    heartbeat: () => startHeartbeat(app),
  }
  for (const [caller, start] of Object.entries(loops)) startRecorded(caller, start)
  const gateway = await recorder.as('gateway', () => createGateway(app))
  stack.defer(gateway.close)
  const http = await createHttpApp(app)
  stack.defer(() => http.close())

  for (const org of orgsUnderTest) await callReads(http, recorder, org)
  await recorder.as('status page', () => publicPagesOf(app).find(statusPageSlug, 'html'))
  await recorder.as('auth.signInWithOauth', () => signInWithProvider(http))
  await recorder.as('TLS', () => findForHandshakes(app))
  await recorder.as('start of the worker', () => queueDeliveriesWithoutJob(app))
  const squidId = Number(orgsUnderTest[1].params['squidId'])
  await recorder.as('other services', () => callForMissingServices(app, squidId))
  await recorder.as('server metrics', () => metricsOf(app).registry.metrics())
  const run = (job: Job<never>, ...args: Parameters<Job<never>['run']>) =>
    recorder.as(`job ${job.name}`, () => job.run(...args))
  const jobContext = { id: '', signal: AbortSignal.timeout(maxWaitMs) }
  for (const job of jobsOf(app)) if (job.schedule) await run(job, {} as never, jobContext)
  await app.jobs.work(jobsOf(app).map((job) => ({ ...job, run: (...args) => run(job, ...args) })))

  const url = await http.listen({ port: 0, host: '127.0.0.1' })
  const gatewayServer = createServer((req, res) => recorder.as('gateway', () => gateway.request(req, res)))
  await new Promise<void>((done) => void gatewayServer.listen(0, '127.0.0.1', done))
  stack.defer(() => void gatewayServer.close())
  const gatewayUrl = `http://127.0.0.1:${(gatewayServer.address() as AddressInfo).port}`
  const [, averageOrg] = orgsUnderTest
  await deployAndChange({ url, gatewayUrl, org: averageOrg })
  const make = createFactories(app)
  const makeMember = () => make.member(averageOrg, 'admin')
  const cardForm = (hasCard: boolean) => openCardForm(createApi(url, averageOrg.token), averageOrg.code, hasCard)
  const context = { app, make, cardForm, solveBotCheck: () => solveBotCheck({ http }) }
  await callChanges(http, recorder, averageOrg, { ...context, makeMember })
  return await waitForRounds(recorder, ['deploy engine', ...Object.keys(loops), 'gateway'])
}

const jobsOf = (app: WorkerApp): Job<never>[] => [
  ...mailJobs(app),
  ...authJobs(app),
  ...userJobs(app),
  ...retentionJobs(app),
  ...removalJobs(app),
  ...channelJobs(app),
  ...certificateJobs(app),
]

/** Waits until each caller has executed the same statement twice, and has thus completed a round. Returns the callers that have not done so within `maxWaitMs`. */
async function waitForRounds(recorder: PlanRecorder, callers: string[]): Promise<string[]> {
  const deadlineMs = performance.now() + maxWaitMs
  const missing = () => {
    const completed = new Set(recorder.statements().flatMap((s) => (s.executions > 1 ? [s.caller] : [])))
    return callers.filter((caller) => !completed.has(caller))
  }
  while (missing().length > 0 && performance.now() < deadlineMs) await delay(500)
  return missing()
}

/** Starts the containers of all versions, as the reconcile loop does, but without its lock and its queries for each version. */
async function startContainers({ database, runtime }: WorkerApp): Promise<void> {
  // `fill.ts` inserts workloads without encrypting them.
  const { rows } = await database.pool.query<{ workload: string }>('select sealed_workload as workload from squids')
  for (const { workload } of rows) await runtime.apply(JSON.parse(workload) as Workload)
}

/** Returns the largest organization, and one of average size, each with the token of an administrator. */
async function makeOrgsUnderTest(app: WorkerApp): Promise<[OrgUnderTest, OrgUnderTest]> {
  const make = createFactories(app)
  const operator: TestUser = await make.operator({ password: samplePassword })
  const orgWithId = async (id: number): Promise<OrgUnderTest> => {
    const { token } = await make.member({ id }, 'admin')
    const { rows } = await app.database.pool.query<Record<string, string>>(
      `select o.code, s.id::text as "squidId", s.name || '@' || s.slot as reference, s.name, to_char(now(), 'YYYY') as year,
         (select max(id)::text from deployments where org_id = o.id) as deployment,
         (select min(id)::text from deployments where org_id = o.id) as "firstDeployment",
         (select min(user_id)::text from roles where org_id = o.id) as "userId",
         to_char(now() - interval '1 month', 'YYYY') as "lastYear", to_char(now() - interval '1 month', 'FMMM') as "lastMonth",
         (select min(id::text) from status_incidents where org_id = o.id and alert_id is null) as "incidentId",
         (select min(u.id)::text from status_updates u where u.incident_id::text =
           (select min(id::text) from status_incidents where org_id = o.id and alert_id is null)) as "updateId"
       from orgs o join squids s on s.org_id = o.id where o.id = $1 order by s.id limit 1`,
      [id],
    )
    const { code = '', deployment = '', ...row } = rows[0] ?? {}
    const month = String(new Date().getUTCMonth() + 1)
    const params = {
      ...row,
      id: deployment,
      tag: 'prod',
      month,
      provider: 'github',
      kind: 'STALLED',
      title: 'ethereum',
    }
    return { id, code, token, operator, params }
  }
  return [await orgWithId(1), await orgWithId(2)]
}

/** Reads the rows that the public ports need for TLS handshakes and ACME challenges, for domains that `fill-domains.ts` inserts. */
async function findForHandshakes(app: WorkerApp): Promise<void> {
  await findCertificate(app, 'api-1.org-1.example.com')
  await findChallengeCertificate(app, 'api-4.org-1.example.com')
  await findKeyAuthorization(app, 'token-api-4-org-1-example-com', 'api-4.org-1.example.com')
}

const createApi = (url: string, token: string) => createClient(contract, { baseUrl: `${url}/api`, token: () => token })

/** Opens a card form of the test payment provider, and enters a card if `hasCard`. Returns the secret of the form. */
async function openCardForm(api: ReturnType<typeof createApi>, code: string, hasCard: boolean): Promise<string> {
  const params = { code }
  const { clientSecret } = (await api.billing.getSettings({ params })).create
  const card = { number: '4242424242424242', expMonth: 1, expYear: 2040, cvc: '123' }
  if (hasCard) await api.billing.enterTestCard({ params, body: { clientSecret, ...card } })
  return clientSecret
}
