import type { Browser } from 'playwright-core'
import { signInAs } from '../../e2e/support/people.ts'
import { deploySimulated, requestSimulatedDeploy, type SimulatedSquid } from '../../e2e/support/simulated-squid.ts'
import type { Shoal } from '../../e2e/support/shoal.ts'
import { until } from '../../e2e/support/until.ts'
import { emptyOrg, fullOrg } from './orgs.ts'
import type { Deployments } from './screen.ts'

const email = 'mia@harbour.example'
const longName = 'uniswap-v3-liquidity-positions-and-swaps-of-every-chain'
const sync = (fromBlock: number, blocksPerSecond = 50) => ({
  sync: { fromBlock, headBlock: 20_000_000, headBlocksPerSecond: 0.1, blocksPerSecond },
})
const progress = JSON.stringify({ level: 2, ns: 'sqd:processor', msg: '1200 / 5000, rate: 2 blocks/sec, mapping: 24' })

const squids: SimulatedSquid[] = [
  {
    name: 'erc20-transfers',
    slot: 'v1',
    tag: 'production',
    description: 'Transfers of the twenty most used tokens, for the dashboards of the research team.',
    processors: {
      eth: { ...sync(20_000_000), print: [progress], periodicOutput: { everyMs: 3000, text: 'indexed block {n}' } },
      base: sync(19_999_000),
    },
  },
  { name: 'erc20-transfers', slot: 'v2', processors: { eth: { ...sync(4_000_000), print: [progress] } } },
  { name: longName.slice(0, 30), slot: 'long-1', tag: 'staging-of-the-team' },
  { name: 'lending', slot: 'v3', processors: { eth: sync(19_999_990, 0.05) } },
  {
    name: 'crashing',
    slot: 'v1',
    processors: { eth: { ends: { afterMs: 2500, exitCode: 1 }, print: ['Error: connect ECONNREFUSED'] } },
  },
  { name: 'asleep', slot: 'v1', tag: 'archive' },
]

const failingBuild = {
  fails: { kind: 'SOURCE_FILES_BUILD_FAILED', message: 'npm run build ended with exit code 2.' },
  prints: [
    '> erc20-transfers@1.0.0 build',
    '> tsc',
    "\u001B[96msrc/mapping.ts\u001B[0m(1,7): \u001B[91merror\u001B[0m TS2322: Type 'string' is not assignable to type 'number'.",
  ],
}

/** A squid whose first deployment fails, so that Shoal does not create the version. */
const neverCreated: SimulatedSquid = { name: 'never-built', slot: 'v1', build: failingBuild }

export type Session = Awaited<ReturnType<typeof signInAs>> & {
  deployments: Deployments
}

/** Creates the organizations, and a user who is an administrator of both and an operator. */
export async function createData(browser: Browser, shoal: Shoal): Promise<Session> {
  const person = await signInAs(browser, shoal, email)
  const { api } = person
  await shoal.cli('user', 'set-operator', email)
  for (const [code, name] of [
    [fullOrg, 'Harbour Analytics'],
    [emptyOrg, 'New Harbour'],
  ] as const) {
    await api.orgs.create({ body: { code, name, email } })
    await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
  }
  const params = { code: fullOrg }
  const deployer = { ...person, shoal, org: fullOrg }
  const secrets = ['RPC_ETH_HTTP', 'COINGECKO_KEY', 'A_SECRET_WITH_A_NAME_THAT_IS_AS_LONG_AS_NAMES_MAY_BE_REALLY']
  await api.secrets.change({
    params,
    body: { secrets: secrets.map((name) => ({ action: 'UPDATE' as const, name, value: 'a value' })) },
  })
  const deployed = []
  for (const squid of squids) deployed.push(await deploySimulated(deployer, squid))
  const ok = deployed[0]?.id ?? 0
  // A second image, so that the version can be rolled back to the first.
  await deploySimulated(deployer, { ...squids[0], name: 'erc20-transfers', slot: 'v1', files: { 'mapping.ts': '' } })
  // The running versions do not have this new value yet.
  await api.secrets.change({
    params,
    body: { secrets: [{ action: 'UPDATE', name: 'COINGECKO_KEY', value: 'a new value' }] },
  })
  const { id: failed } = await deploySimulated(deployer, {
    ...squids[1],
    name: 'erc20-transfers',
    slot: 'v2',
    build: failingBuild,
    files: { 'mapping.ts': "const a: number = 'b'\n" },
  })
  const { id: failedFirst } = await deploySimulated(deployer, neverCreated)
  await api.squids.hibernate({ params: { ...params, reference: 'asleep@v1' } })
  for (const [member, roleType] of [
    ['dev@harbour.example', 'developer'],
    ['a-person-with-a-very-long-address@research.harbour.example', 'viewer'],
  ] as const)
    await api.orgs.inviteMember({ params, body: { email: member, roleType } })
  for (const name of ['my-laptop', 'ci', 'a token of the nightly build that copies data to the warehouse'])
    await api.user.createApiToken({ body: { name, scope: 'deploy', organization: null, expiresAt: null } })
  await publishStatusPage(person)
  const { create } = await api.billing.getSettings({ params })
  const card = { number: '4242424242424242', expMonth: 12, expYear: 2090, cvc: '123' }
  await api.billing.enterTestCard({ params, body: { ...create, ...card } })
  await api.billing.addPaymentMethod({ params, body: create })
  await api.alerts.addChannel({
    params,
    body: { type: 'slack', name: 'Ops room', url: 'https://hooks.slack.com/services/T0/B0/x' },
  })
  await api.alerts.mute({ params, body: { kind: null, squidId: (await findSquid(person, 'asleep')).id, minutes: 60 } })
  await until(
    async () => (await api.alerts.list({ params, query: { state: 'open' } })).length > 0,
    'an alert opens',
    180_000,
  )
  const running = await requestSimulatedDeploy(deployer, {
    name: 'dex-trades',
    slot: 'v1',
    build: { takesMs: 3_600_000, prints: ['> dex-trades@1.0.0 build', '> tsc'] },
  })
  return { ...person, deployments: { ok, failed, failedFirst, running } }
}

/** Publishes the status page of the organization, with an open incident. */
async function publishStatusPage({ api }: Pick<Session, 'api'>): Promise<void> {
  const params = { code: fullOrg }
  const { url: _, ...settings } = await api.statusPage.get({ params })
  const tag = { squid: 'erc20-transfers', tag: 'production' }
  await api.statusPage.update({
    params,
    body: { ...settings, isEnabled: true, tags: [{ ...tag, name: 'Transfers API' }] },
  })
  const text = 'The node of Ethereum is behind. Requests are served with data that is older than usual.'
  await api.statusPage.createIncident({
    params,
    body: { title: 'Data of Ethereum is late', impact: 'DEGRADED', tags: [tag], state: 'IDENTIFIED', text },
  })
}

async function findSquid({ api }: Pick<Session, 'api'>, name: string) {
  const [squid] = await api.squids.list({ params: { code: fullOrg }, query: { name } })
  if (!squid) throw new Error(`The organization has no squid ${name}`)
  return squid
}
