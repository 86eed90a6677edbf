import type { BillingLimits } from '@shoal/contract'
import { Big } from 'big.js'
import type { App } from '../../../app.ts'
import { changeOrg, getOrg, type OrgRow } from '../../orgs/index.ts'
import { costsOf, type Costs } from '../costs/costs.ts'
import { perHour } from '../costs/forecast.ts'
import { changeAccount, type AccountRow } from '../payments/payment-store.ts'
import type { PriceBook } from '../prices/price-book.ts'
import { netOf } from '../receipts/receipt.ts'
import { capMail } from '../account-status/mails.ts'
import { recipientsOf } from '../account-status/apply-event.ts'
import { monthEndMs, msPerHour } from '../time.ts'
import { reachedPercent, toHibernate } from './cap.ts'
import {
  hibernateForCap,
  listHibernatedByCap,
  wakeAfterCap,
  listAccountsWithCaps,
  versionsWithTags,
  deleteHibernation,
  listHibernations,
} from './limits-store.ts'
import { systemAction } from '../../deployments/index.ts'

/** Enforces the caps of all organizations. Idempotent. */
export async function enforceLimits(app: App, book: PriceBook): Promise<void> {
  for (const account of await listAccountsWithCaps(app.db)) {
    // A failure for one organization must not suspend the caps of the others.
    await enforceOne(app, book, account).catch((error: unknown) =>
      app.log.error({ err: error, orgId: account.orgId }, 'failed to enforce spend cap'),
    )
  }
}

async function enforceOne(app: App, book: PriceBook, account: AccountRow): Promise<void> {
  const { orgId } = account
  const org = await getOrg(app.db, orgId)
  if (account.spendCapUsd === null) {
    await applyStops(app, org, { deploysStoppedUntil: null, rpcRequestsCap: account.rpcRequestsCap })
    await wakeAfterCap(app.db, orgId)
    return
  }
  const costs = await costsOf(app, book, orgId)
  const capUsd = new Big(account.spendCapUsd)
  const spentUsd = netOf(costs.soFar)
  const monthEnd = monthEndMs(costs.month)
  const stopped = account.atCap === 'hibernate' ? await hibernate(app, book, account, costs, capUsd, spentUsd) : 0
  const isReached = spentUsd.gte(capUsd) || stopped > 0
  await applyStops(app, org, {
    deploysStoppedUntil: isReached ? new Date(monthEnd) : null,
    // Requests cost money too: with `hibernate` they stop as well.
    rpcRequestsCap: isReached && account.atCap === 'hibernate' ? 0 : account.rpcRequestsCap,
  })
  if (!isReached) await wakeAfterCap(app.db, orgId)
  await warn(app, org, account, costs.month, { spentUsd, capUsd, isReached })
}

/** The number of versions that the cap has hibernated this month. */
async function hibernate(
  app: App,
  book: PriceBook,
  account: AccountRow,
  costs: Costs,
  capUsd: Big,
  spentUsd: Big,
): Promise<number> {
  const now = app.clock.now()
  const already = (await listHibernatedByCap(app.db, account.orgId)).filter((row) => row.month === costs.month).length
  const hoursLeft = new Big(monthEndMs(costs.month) - now.getTime()).div(msPerHour)
  const isKept = (type: string) => type === 'storage'
  const committedUsd = costs.perHourOf(costs.observed.filter((s) => isKept(s.type))).times(hoursLeft)
  const programs = costs.observed.filter((s) => !isKept(s.type))
  const withTags = await versionsWithTags(app.db, account.orgId)
  const versions = [...new Set(programs.map((s) => s.squidId))].map((id) => {
    const containers = programs.filter((s) => s.squidId === id)
    const fullName = containers[0]?.squidName ?? ''
    return {
      id,
      fullName,
      name: fullName.split('@')[0] ?? '',
      hasTags: withTags.has(id),
      perHourUsd: perHour(book, containers, now.getTime()),
    }
  })
  const { hibernateOrder } = account
  const stop = toHibernate({ capUsd, spentUsd, committedUsd, versions, hibernateOrder })
  for (const { id } of stop) {
    const name = versions.find((v) => v.id === id)?.fullName ?? ''
    await hibernateForCap(app.db, { id, orgId: account.orgId, name }, now)
  }
  return already + stop.length
}

async function applyStops(
  app: App,
  org: OrgRow,
  stops: { deploysStoppedUntil: Date | null; rpcRequestsCap: number | null },
): Promise<void> {
  const isSame =
    org.deploysStoppedUntil?.getTime() === stops.deploysStoppedUntil?.getTime() &&
    org.rpcRequestsCap === stops.rpcRequestsCap
  if (!isSame) await changeOrg(app.db, org.id, stops)
}

const capConsequences: Record<BillingLimits['atCap'], string> = {
  stop_deploys: 'you cannot deploy until the month ends; running squids keep running',
  hibernate: 'squids are hibernated in the order you chose, and start again when the month ends or you raise the cap',
}

async function warn(
  app: App,
  org: OrgRow,
  account: AccountRow,
  month: string,
  { spentUsd, capUsd, isReached }: { spentUsd: Big; capUsd: Big; isReached: boolean },
): Promise<void> {
  const percent = isReached ? 100 : reachedPercent(spentUsd, capUsd)
  const warned = account.warnedMonth === month ? account.warnedPercent : 0
  if (percent <= warned) return
  const amounts = { percent, spentUsd: spentUsd.toFixed(2), capUsd: capUsd.toFixed(2) }
  await app.db.transaction(async (tx) => {
    await changeAccount(tx, org.id, { warnedPercent: percent, warnedMonth: month })
    for (const to of await recipientsOf(tx, org))
      await app.mailer.send(capMail(app.config, to, org, { ...amounts, consequences: capConsequences[account.atCap] }))
  })
}

/** Hibernates and restarts the versions that billing has marked; busy ones are retried in the next round. */
export async function applyHibernations(app: App): Promise<void> {
  for (const row of await listHibernations(app.db)) {
    const type = row.isWaking ? 'RESTART' : 'HIBERNATE'
    const outcome = await systemAction(app, row.squidId, type, `billing ${row.reason}`)
    if (row.isWaking && outcome !== 'busy') await deleteHibernation(app.db, row.squidId)
  }
}
