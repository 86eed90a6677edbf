import {
  contract,
  endpointsOf,
  isForOperators,
  monitoringQueries,
  type Endpoint,
} from '../../../../contract/src/index.ts'
import type { createHttpApp } from '../../../../server/src/http/app.ts'
import { requestFor } from '../../../../server/src/testing/contract-samples.ts'
import type { TestUser } from '../../../../server/src/testing/make.ts'
import type { PlanRecorder } from './recorder.ts'
import { samples, type Sample, type SampleContext } from './samples.ts'

type HttpApp = Awaited<ReturnType<typeof createHttpApp>>

/** An organization, with the ids that its endpoints need in their paths. */
export type OrgUnderTest = {
  id: number
  code: string
  /** The token of an administrator. */
  token: string
  /** The operator of the installation. */
  operator: TestUser
  params: Record<string, string>
}

/** Samples for endpoints that read and would reject their default request. Their queries are in `queriesByEndpoint`. */
const readSamples: Record<string, Sample[]> = {
  'squids.get': [{ params: { reference: '$name:prod' } }],
  'rpc.getChain': [{ params: { id: 'devnet' } }],
  'portal.getDataset': [{ params: { id: 'devnet' } }],
  'operators.listSessions': [{ params: { id: '$userId' } }],
  'billing.getInvoice': [{ params: { year: '$lastYear', month: '$lastMonth' } }],
  'billing.estimate': [
    {
      body: {
        manifest: 'manifest_version: subsquid.io/v0.1\nname: sample\nbuild:\ndeploy: { processor: { cmd: [node] } }',
      },
    },
  ],
}

/** Queries of each endpoint, as the console sends them. The bench also calls each endpoint without a query. */
const queriesByEndpoint: Record<string, string[]> = {
  'squids.list': ['search=squid-1', 'search=('],
  'squids.listMine': ['name=squid-1'],
  'squids.listSummaries': ['ids=$squidId'],
  'deployments.list': [
    'squidId=$squidId',
    'squidId=$squidId&logs=false',
    'before=20000&limit=20',
    'statusGroup=IN_PROGRESS',
  ],
  'deployments.get': ['logsAfter=3'],
  'deployments.getChanges': ['against=$firstDeployment'],
  'logs.history': ['search=rate', 'level=ERROR', 'container=processor', 'search=nothing&orderBy=asc', 'at=20'],
  'alerts.list': ['state=open', 'state=ended', 'state=ended&before=20000'],
  'alerts.listDeliveries': ['before=20000'],
  'metrics.getIngress': ['from=2026-01-01'],
  'metrics.getSquidIngress': ['from=2026-01-01'],
  'billing.getReceipt': ['bySquid=true'],
  'operators.listOrgs': ['search=org-1&state=SUSPENDED', 'search=user-1@example.com&sort=cost', 'state=PLAYGROUND'],
  'operators.listUsers': ['search=user-1', 'offset=50'],
  'operators.listSquids': ['search=squid-1', 'sort=logs&offset=50'],
}

/** Endpoints that read the database of a squid, which the filled versions do not have. */
const skippedEndpoints = ['squids.exportDatabase']

/** True for endpoints whose responses do not end. The bench reads them for one second. */
const isEndless = (e: Endpoint) => e.kind === 'lines'

/** Calls every endpoint that changes nothing, with all its queries. @throws if a call fails, see `call` */
export async function callReads(http: HttpApp, recorder: PlanRecorder, org: OrgUnderTest): Promise<void> {
  const failures: string[] = []
  for (const [name, e] of endpointsOf(contract)) {
    if (e.isChange || skippedEndpoints.includes(name)) continue
    const token = isForOperators(e) ? org.operator.token : org.token
    for (const { params, body } of readSamples[name] ?? [{}])
      for (const query of ['', ...(queriesByEndpoint[name] ?? [])])
        for (const parameter of name === 'monitoring.query' ? monitoringQueries : ['']) {
          const filled = Object.entries(params ?? {}).map(([key, value]) => [key, fillIn(value, org.params)])
          const sample = {
            token,
            body,
            params: { ...org.params, query: parameter, ...(Object.fromEntries(filled) as Record<string, string>) },
          }
          failures.push(...(await call(http, recorder, name, org.code, { query, sample })))
        }
  }
  if (failures.length > 0) throw new Error(failures.join('\n'))
}

/**
 * Calls every endpoint that makes changes, each as a new member, since some sign the caller out or delete resources that others need.
 * One operator calls all endpoints for operators, in one session.
 * @throws if a call fails, see `call`
 */
export async function callChanges(
  http: HttpApp,
  recorder: PlanRecorder,
  org: OrgUnderTest,
  { makeMember, ...context }: Omit<SampleContext, 'orgId' | 'caller'> & { makeMember: () => Promise<TestUser> },
): Promise<void> {
  const changes = endpointsOf(contract).filter(([, e]) => e.isChange)
  // The organization is deleted last.
  const ordered = changes.toSorted(([a], [b]) => Number(a === 'orgs.delete') - Number(b === 'orgs.delete'))
  const failures: string[] = []
  for (const [name, e] of ordered)
    for (const prepare of samples[name] ?? [async () => ({})]) {
      const caller = isForOperators(e) ? org.operator : await makeMember()
      const { params, token = caller.token, body }: Sample = await prepare({ ...context, orgId: org.id, caller })
      const sample = { token, params: { ...org.params, ...params }, body }
      failures.push(...(await call(http, recorder, name, org.code, { sample })))
      if (name === 'operators.openSupport')
        failures.push(...(await call(http, recorder, 'orgs.get', org.code, { sample })))
    }
  if (failures.length > 0) throw new Error(failures.join('\n'))
}

/** Replaces each `$key` with the parameter of this name. */
const fillIn = (text: string, params: Record<string, string>) =>
  text.replaceAll(/\$(\w+)/g, (_, key: string) => params[key] ?? '')

const maxAttempts = 10

/** Calls an endpoint. Returns its failure, if any: status 500 or 503, or 400 of a GET. The server may reject a change, since not all of its ids exist. */
async function call(
  http: HttpApp,
  recorder: PlanRecorder,
  name: string,
  code: string,
  { query = '', sample: { token, params = {}, body: ownBody } }: { query?: string; sample: Sample & { token: string } },
): Promise<string[]> {
  const [, e] = endpointsOf(contract).find(([candidate]) => candidate === name) ?? []
  if (!e) return [`There is no endpoint ${name}.`]
  const request = requestFor(name, e, { ...params, code }, token)
  const filledQuery = fillIn(query, params)
  const url = filledQuery ? `${request.url}${request.url.includes('?') ? '&' : '?'}${filledQuery}` : request.url
  const payload = ownBody === undefined ? {} : { payload: ownBody }
  const controller = new AbortController()
  const timer = isEndless(e) ? setTimeout(() => controller.abort(), 1_000) : undefined
  try {
    // `send` awaits the response inside `as`, because the request starts only when its result is awaited.
    const send = async () => await http.inject({ ...request, ...payload, url, signal: controller.signal })
    let { statusCode, body } = await recorder.as(name, send)
    // The server reports an unavailable database when the machine is too busy for a query within a second.
    for (let attempt = 1; statusCode === 503 && attempt < maxAttempts; attempt++)
      ({ statusCode, body } = await recorder.as(name, send))
    if (statusCode >= 400) console.error(`Rejected: ${name} ${url}: ${statusCode} ${body.slice(0, 200)}`)
    const isFailure = [500, 503].includes(statusCode) || (e.method === 'GET' && statusCode === 400)
    return isFailure ? [`${name} ${url}: ${statusCode} ${body.slice(0, 300)}`] : []
  } catch (error) {
    return controller.signal.aborted ? [] : [`${name} ${url}: ${(error as Error).message}`]
  } finally {
    clearTimeout(timer)
  }
}
