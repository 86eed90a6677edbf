import type { BillingLimits } from '@shoal/contract'
import { Big } from 'big.js'
import type { App } from '../../../app.ts'
import { changeOrg, getOrg, type OrgRow } from '../../orgs/index.ts'
import { costsOf, type Costs } from '../costs/costs.ts'
import { costPerHour } from '../costs/forecast.ts'
import { changeBillingAccount, type AccountRow } from '../payments/payment-store.ts'
import type { PriceBook } from '../prices/price-book.ts'
import { netOf } from '../receipts/receipt.ts'
import { capMail } from '../account-status/mails.ts'
import { recipientsOf } from '../account-status/apply-event.ts'
import { monthEndMs, msPerHour } from '../time.ts'
import { reachedPercent, versionsToHibernate } from './cap.ts'
import {
  requestHibernationForCap,
  listHibernatedByCap,
  requestRestartsAfterCap,
  listAccountsWithCaps,
  versionsWithTags,
  deleteHibernation,
  applySuspensions,
  listHibernations,
} from './limits-store.ts'
import { systemAction } from '../../deployments/index.ts'

/** Enforces the caps of all organizations. Idempotent. */
export async function enforceLimits(app: App, book: PriceBook): Promise<void> {
  for (const account of await listAccountsWithCaps(app.db)) {
    // A failure for one organization must not prevent the enforcement of the other caps.
    await enforceCap(app, book, account).catch((error: unknown) =>
      app.log.error({ err: error, orgId: account.orgId }, 'failed to enforce spend cap'),
    )
  }
}

async function enforceCap(app: App, book: PriceBook, account: AccountRow): Promise<void> {
  const { orgId } = account
  const org = await getOrg(app.db, orgId)
  if (account.spendCapUsd === null) {
    await restrictOrg(app, org, { deploysStoppedUntil: null, rpcRequestsCap: account.rpcRequestsCap })
    await requestRestartsAfterCap(app.db, orgId)
    return
  }
  const costs = await costsOf(app, book, orgId)
  const capUsd = new Big(account.spendCapUsd)
  const spentUsd = netOf(costs.soFar)
  const monthEnd = monthEndMs(costs.month)
  const hibernatedCount =
    account.atCap === 'hibernate' ? await requestHibernations(app, book, account, { costs, capUsd, spentUsd }) : 0
  const isReached = spentUsd.gte(capUsd) || hibernatedCount > 0
  await restrictOrg(app, org, {
    deploysStoppedUntil: isReached ? new Date(monthEnd) : null,
    // With `hibernate`, no RPC requests are allowed either, because they cost money.
    rpcRequestsCap: isReached && account.atCap === 'hibernate' ? 0 : account.rpcRequestsCap,
  })
  if (!isReached) await requestRestartsAfterCap(app.db, orgId)
  await sendCapWarning(app, org, account, costs.month, { spentUsd, capUsd, isReached })
}

/** Marks versions for hibernation if necessary to stay within the cap. Returns how many the cap has marked this month. */
async function requestHibernations(
  app: App,
  book: PriceBook,
  account: AccountRow,
  { costs, capUsd, spentUsd }: { costs: Costs; capUsd: Big; spentUsd: Big },
): Promise<number> {
  const now = app.clock.now()
  const hibernatedBefore = (await listHibernatedByCap(app.db, account.orgId)).filter(
    (row) => row.month === costs.month,
  ).length
  const hoursLeft = new Big(monthEndMs(costs.month) - now.getTime()).div(msPerHour)
  const isStorage = (type: string) => type === 'storage'
  const committedUsd = costs.perHourOf(costs.observed.filter((s) => isStorage(s.type))).times(hoursLeft)
  const programs = costs.observed.filter((s) => !isStorage(s.type))
  const withTags = await versionsWithTags(app.db, account.orgId)
  const versions = [...new Set(programs.map((s) => s.squidId))].map((id) => {
    const containers = programs.filter((s) => s.squidId === id)
    const fullName = containers[0]?.squidName ?? ''
    return {
      id,
      fullName,
      name: fullName.split('@')[0] ?? '',
      hasTags: withTags.has(id),
      perHourUsd: costPerHour(book, containers, now.getTime()),
    }
  })
  const { hibernateOrder } = account
  const toStop = versionsToHibernate({ capUsd, spentUsd, committedUsd, versions, hibernateOrder })
  for (const { id } of toStop) {
    const name = versions.find((v) => v.id === id)?.fullName ?? ''
    await requestHibernationForCap(app.db, { id, orgId: account.orgId, name }, now)
  }
  return hibernatedBefore + toStop.length
}

async function restrictOrg(
  app: App,
  org: OrgRow,
  restrictions: { deploysStoppedUntil: Date | null; rpcRequestsCap: number | null },
): Promise<void> {
  const isSame =
    org.deploysStoppedUntil?.getTime() === restrictions.deploysStoppedUntil?.getTime() &&
    org.rpcRequestsCap === restrictions.rpcRequestsCap
  if (!isSame) await changeOrg(app.db, org.id, restrictions)
}

const capConsequences: Record<BillingLimits['atCap'], string> = {
  stop_deploys: 'you cannot deploy until the month ends; running squids keep running',
  hibernate: 'squids are hibernated in the order you chose, and start again when the month ends or you raise the cap',
}

async function sendCapWarning(
  app: App,
  org: OrgRow,
  account: AccountRow,
  month: string,
  { spentUsd, capUsd, isReached }: { spentUsd: Big; capUsd: Big; isReached: boolean },
): Promise<void> {
  const percent = isReached ? 100 : reachedPercent(spentUsd, capUsd)
  const warnedPercent = account.warnedMonth === month ? account.warnedPercent : 0
  if (percent <= warnedPercent) return
  const amounts = { percent, spentUsd: spentUsd.toFixed(2), capUsd: capUsd.toFixed(2) }
  await app.db.transaction(async (tx) => {
    await changeBillingAccount(tx, org.id, { warnedPercent: percent, warnedMonth: month })
    for (const to of await recipientsOf(tx, org))
      await app.mailer.send(capMail(app.config, to, org, { ...amounts, consequences: capConsequences[account.atCap] }))
  })
}

/**
 * Hibernates and restarts the versions that billing or a suspension has marked. Retries versions with a running deployment in the
 * next round.
 */
export async function applyHibernations(app: App): Promise<void> {
  await applySuspensions(app.db, app.clock.now())
  for (const row of await listHibernations(app.db)) {
    const type = row.isRestartRequested ? 'RESTART' : 'HIBERNATE'
    const outcome = await systemAction(app, row.squidId, type, `billing ${row.reason}`)
    if (row.isRestartRequested && outcome !== 'busy') await deleteHibernation(app.db, row.squidId)
  }
}
