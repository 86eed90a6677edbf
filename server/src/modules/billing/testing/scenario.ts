import { minutes } from '../../../clock.ts'
import type { TestApp, TestOrg } from '../../../testing/index.ts'
import { billingRound } from '../round.ts'

export type BillingScenario = ReturnType<typeof startScenario>

/** Returns helpers for billing tests: add versions, databases and cards, and advance the clock. */
export function startScenario(t: TestApp) {
  const runRound = billingRound(t.app)
  const sql = (text: string, values: unknown[] = []) => t.app.database.pool.query(text, values)

  /** Adds a version whose programs start running now. Returns its id. */
  async function addVersion(
    org: TestOrg,
    version: { name: string; isDedicated?: boolean; containers?: string[]; tag?: string },
  ) {
    const { rows } = await sql(
      `insert into squids (org_id, name, slot, image, is_dedicated, api_profile, processor_profile, created_at)
       values ($1, $2, 'v1', 'an image', $3, $4, $4, $5) returning id`,
      [org.id, version.name, version.isDedicated ?? false, version.isDedicated ? 'small' : 'collocated', t.clock.now()],
    )
    const id = (rows[0] as { id: number }).id
    for (const container of version.containers ?? ['api', 'processor'])
      await sql(
        `insert into container_states (squid_id, generation, container, state, since, restarts, oom_kills, is_out_of_memory)
         values ($1, 1, $2, 'running', $3, 0, 0, false)`,
        [id, container, t.clock.now()],
      )
    if (version.tag)
      await sql(`insert into squid_tags (org_id, squid_name, tag, squid_id) values ($1, $2, $3, $4)`, [
        org.id,
        version.name,
        version.tag,
        id,
      ])
    return id
  }

  /** Adds a database of this size to a version. */
  const addDatabase = (id: number, profile: string, gibibytes: number) =>
    sql(
      `insert into squid_databases (squid_id, database, role, sealed_password, read_role, sealed_read_password, version, profile, total_bytes)
       values ($1, $2, $2, '', $2, '', '17', $3, $4)`,
      [id, `db_${id}`, profile, gibibytes * 2 ** 30],
    )

  /** Advances the clock, and runs a billing round after each step. */
  async function advance(ms: number, stepMs = minutes(10)) {
    for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
      t.clock.advance(Math.min(stepMs, ms - passedMs))
      await runRound()
    }
  }

  /** Enters a card in the test provider's form. Returns the error it shows, or the organization's new status. */
  const addCard = async (org: TestOrg, number: string, expiry = { expMonth: 12, expYear: 2035 }) => {
    const api = t.as(org.admin).billing
    const params = { code: org.code }
    const { create } = await api.getSettings({ params })
    const entered = await api.enterTestCard({
      params,
      body: { ...create, number, ...expiry, cvc: '123', authentication: 'complete' },
    })
    if (entered.error) return entered.error
    return (await api.addPaymentMethod({ params, body: create })).status
  }

  return { runRound, addVersion, addDatabase, advance, addCard }
}
