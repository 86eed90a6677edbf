import { can, type Org } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { q, type Payload } from '../../api/query.ts'
import { seedOrg } from '../../api/seed-session.ts'
import { seed } from '../../api/seed.ts'
import { membershipOf } from '../../components/access.tsx'

/** The costs of this month. The banner about unpaid bills, which is on every billing page, reads them. */
export const summaryQuery = (code: string) => q('billing.getSummary', { params: { code } })

/** The payment methods, and what the card form needs. */
export const settingsQuery = (code: string) => q('billing.getSettings', { params: { code } }, { staleTime: Infinity })

/** The prices of all resources; the first entry has the current ones. */
export const pricesQuery = q('billing.getPrices', {}, { staleTime: Infinity })

/** The monthly caps, and how much of them is used. */
export const limitsQuery = (code: string) => q('billing.getLimits', { params: { code } }, { refetchInterval: 60_000 })

/** The parameters of the receipt of a month such as `2026-11`. */
export function receiptParams(code: string, month: string) {
  const [year = '', monthOfYear = ''] = month.split('-')
  return { code, year, month: monthOfYear }
}

/** The receipt of a month such as `2026-11`. `isBySquid`: with separate items for each squid. */
export function receiptQuery(code: string, month: string, isBySquid: boolean) {
  const query = isBySquid ? { bySquid: 'true' as const } : {}
  return q('billing.getReceipt', { params: receiptParams(code, month), query }, { staleTime: 30_000 })
}

/** Starts to fetch the settings, if the user has the permission to see them. */
export function prefetchSettings(client: QueryClient, org: Org): void {
  if (can(membershipOf(org), 'billing.write')) void client.prefetchQuery(settingsQuery(org.code))
}

type ChangedMethods = Pick<Payload<'billing.getSettings'>, 'existing'> & Partial<Pick<Org, 'status'>>

/** Shows changed payment methods immediately, and the status that the organization has with them. */
export function seedMethods(client: QueryClient, code: string, { existing, status }: ChangedMethods): void {
  seed(client, 'billing.getSettings', { params: { code } }, (settings) => ({ ...settings, existing }))
  if (status) seedOrg(client, code, { status })
}
