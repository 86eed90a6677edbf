import { minutes } from '../../../clock.ts'
import type { TestApp, TestOrg } from '../../../testing/index.ts'
import { billingRound } from '../round.ts'

export type BillingScenario = ReturnType<typeof startScenario>

/** Helpers for billing tests: observed versions, passing time, and cards. */
export function startScenario(t: TestApp) {
  const round = billingRound(t.app)
  const sql = (text: string, values: unknown[] = []) => t.app.database.pool.query(text, values)

  /** A version whose programs were observed since `at`. */
  async function running(
    org: TestOrg,
    given: { name: string; isDedicated?: boolean; containers?: string[]; tag?: string },
  ) {
    const { rows } = await sql(
      `insert into squids (org_id, name, slot, image, is_dedicated, api_profile, processor_profile, created_at)
       values ($1, $2, 'v1', 'an image', $3, $4, $4, $5) returning id`,
      [org.id, given.name, given.isDedicated ?? false, given.isDedicated ? 'small' : 'collocated', t.clock.now()],
    )
    const id = (rows[0] as { id: number }).id
    for (const container of given.containers ?? ['api', 'processor'])
      await sql(
        `insert into container_states (squid_id, generation, container, state, since, restarts, oom_kills, is_out_of_memory)
         values ($1, 1, $2, 'running', $3, 0, 0, false)`,
        [id, container, t.clock.now()],
      )
    if (given.tag)
      await sql(`insert into squid_tags (org_id, squid_name, tag, squid_id) values ($1, $2, $3, $4)`, [
        org.id,
        given.name,
        given.tag,
        id,
      ])
    return id
  }

  const database = (id: number, profile: string, gibibytes: number) =>
    sql(
      `insert into squid_databases (squid_id, database, role, sealed_password, read_role, sealed_read_password, version, profile, total_bytes)
       values ($1, $2, $2, '', $2, '', '17', $3, $4)`,
      [id, `db_${id}`, profile, gibibytes * 2 ** 30],
    )

  async function pass(ms: number, stepMs = minutes(10)) {
    for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
      t.clock.advance(Math.min(stepMs, ms - passedMs))
      await round()
    }
  }

  const card = async (org: TestOrg, number: string, expiry = { expMonth: 12, expYear: 2035 }) => {
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

  return { round, running, database, pass, card }
}
