import { allMonthsCsv, type BillingLimitsUsage, type Contract } from '@shoal/contract'
import { Big } from 'big.js'
import type { App } from '../../app.ts'
import { invalid, notFound, refuse } from '../../errors.ts'
import type { Handlers, OrgScope } from '../call.ts'
import { changeOrg, getOrg, quotaUsed } from '../orgs/index.ts'
import { findSquid } from '../versions/index.ts'
import { costsOf, squidCostOf, summaryOf } from './costs/costs.ts'
import { estimateOf } from './costs/estimate.ts'
import { listHibernatedByCap } from './limits/limits-store.ts'
import { chargeUnpaidInvoices, invoiceNumber } from './payments/collect.ts'
import { accountOf, changeBillingAccount, listPaymentMethods, listUnpaid } from './payments/payment-store.ts'
import { customerOf, makeMethodDefault, removeMethod, replaceMethod } from './payments/methods.ts'
import { providerOf } from './payments/provider-of.ts'
import { enterTestCard } from './payments/test-provider.ts'
import { readPriceBook, publicPrices } from './prices/price-book.ts'
import { checkedFontFile } from './receipts/font-file.ts'
import { listInvoices, selectInvoice } from './receipts/invoice-store.ts'
import { allReceipts, receiptFor } from './receipts/months.ts'
import { mergeSquids, netOf } from './receipts/receipt.ts'
import { hasFailedCharges } from './account-status/account-status.ts'

export function billingHandlers(app: App): Handlers<Contract['billing']> {
  const book = readPriceBook(app.config)
  const provider = providerOf(app)
  const fontFile = checkedFontFile(app.config)
  return {
    getSettings: async ({ org }) => {
      rejectPlayground(org)
      const customerId = await customerOf(app, provider, org)
      return {
        provider: provider.name,
        publishableKey: provider.publishableKey,
        create: await provider.startSetup(customerId),
        existing: await listPaymentMethods(app.db, org.id),
      }
    },
    updateSettings: async ({ org, body, request }) => {
      rejectPlayground(org)
      const before = (await getOrg(app.db, org.id)).billingDetails
      const after = { ...body, vatId: body.vatId || null }
      await changeOrg(app.db, org.id, { billingDetails: after })
      request.audit({ subject: org.code, before, after })
      return after
    },
    enterTestCard: async ({ org, body }) => {
      if (provider.name !== 'test') throw notFound('Card form')
      return await enterTestCard(app, org.id, body)
    },
    addPaymentMethod: async ({ org, body, request }) => {
      rejectPlayground(org)
      const before = body.replaces === undefined ? null : { paymentMethod: body.replaces }
      await replaceMethod(app, provider, org, body, (write) =>
        request.inTransaction(async () => {
          const method = await write()
          request.audit({ subject: org.code, before, after: { paymentMethod: method.id } })
          return method
        }),
      )
      return await chargeDefaultMethod(org)
    },
    makeDefaultPaymentMethod: async ({ org, params, request }) => {
      await request.inTransaction(async () => {
        await makeMethodDefault(app, org, params.id)
        request.audit({ subject: org.code, after: { paymentMethod: params.id } })
      })
      return await chargeDefaultMethod(org)
    },
    removePaymentMethod: async ({ org, params, request }) => {
      await request.inTransaction(async () => {
        await removeMethod(app, org, params.id)
        request.audit({ subject: org.code, before: { paymentMethod: params.id } })
      })
      await provider.deleteMethod(params.id)
      return { existing: await listPaymentMethods(app.db, org.id) }
    },
    pay: async ({ org, request }) => {
      rejectPlayground(org)
      if ((await listPaymentMethods(app.db, org.id)).length === 0)
        throw refuse('NO_PAYMENT_METHOD', 'There is no payment method. Please add a card.')
      const isDue = (await listUnpaid(app.db, org.id)).length > 0
      if (!isDue && !hasFailedCharges(await accountOf(app.db, org.id)))
        throw refuse('NOTHING_DUE', 'Nothing is due. If the organization should be active, please write to support.')
      // Recorded before the charge, so that the request is audited regardless of its outcome.
      await request.inTransaction(async () => request.audit({ subject: org.code }))
      return await chargeUnpaidInvoices(app, provider, org.id, { isScheduled: false })
    },
    getReceipt: async ({ org, params, query }) => {
      const receipt = await receiptFor(app, book, org.id, monthParam(params))
      return query.bySquid === 'true' || query.bySquid === '1' ? receipt : mergeSquids(receipt)
    },
    exportReceipts: async ({ org }) => ({
      contentType: 'text/csv; charset=utf-8',
      body: allMonthsCsv(await allReceipts(app, book, org.id)),
      fileName: `receipts-${org.code}.csv`,
    }),
    listInvoices: async ({ org }) =>
      (await listInvoices(app.db, org.id)).map(({ number, month, totalUsd, paidAt, closedAt }) => ({
        number: invoiceNumber(number),
        month,
        totalUsd: twoDecimals(totalUsd),
        status: paidAt ? ('paid' as const) : ('open' as const),
        closedAt,
      })),
    getInvoice: async ({ org, params }) => {
      const invoice = await selectInvoice(app.db, org.id, monthParam(params))
      if (!invoice) throw notFound('Invoice')
      const fileName = `${invoiceNumber(invoice.number)}.pdf`
      // Loaded on first use, because the PDF and font libraries take 11 MB of memory.
      const { invoicePdf } = await import('./receipts/invoice-pdf.ts')
      const body = await invoicePdf(invoice, { log: app.log, fontFile })
      return { contentType: 'application/pdf', body, fileName }
    },
    getSummary: ({ org }) => summaryOf(app, book, org.id),
    getSquidCost: async ({ org, params }) => {
      const { id, name, slot } = await findSquid(app.db, org.id, params.reference)
      return await squidCostOf(app, book, org.id, { id, name: `${name}@${slot}` })
    },
    estimate: async ({ org, body }) => {
      const { discountPercent } = await accountOf(app.db, org.id)
      const payer = { isPlayground: org.isPlayground, discountPercent: new Big(discountPercent) }
      return estimateOf(book, body.manifest, payer, { now: app.clock.now(), config: app.config })
    },
    getLimits: ({ org }) => limitsResponse(app, org),
    updateLimits: async ({ org, body, request }) => {
      rejectPlayground(org)
      const before = await limitsResponse(app, org)
      await changeBillingAccount(app.db, org.id, body)
      const after = await limitsResponse(app, org)
      request.audit({ subject: org.code, before: settingsOf(before), after: settingsOf(after) })
      return after
    },
    getPrices: async () => publicPrices(book, app.clock.now(), { hasura: app.config.hasura !== null }),
  }

  async function chargeDefaultMethod(org: OrgScope) {
    const { status } = await chargeUnpaidInvoices(app, provider, org.id, { isScheduled: false })
    return { status, existing: await listPaymentMethods(app.db, org.id) }
  }

  async function limitsResponse(app: App, org: OrgScope): Promise<BillingLimitsUsage> {
    const now = app.clock.now()
    const [account, row, costs, rpcRequests, hibernated] = await Promise.all([
      accountOf(app.db, org.id),
      getOrg(app.db, org.id),
      costsOf(app, book, org.id),
      quotaUsed(app.db, org.id, 'rpc', now),
      listHibernatedByCap(app.db, org.id),
    ])
    const isStopped = row.deploysStoppedUntil !== null && row.deploysStoppedUntil > now
    return {
      spendCapUsd: account.spendCapUsd,
      atCap: account.atCap,
      hibernateOrder: account.hibernateOrder,
      rpcRequestsCap: account.rpcRequestsCap,
      spentUsd: netOf(costs.soFar).round(8).toFixed(),
      rpcRequests,
      deploysStoppedUntil: isStopped ? (row.deploysStoppedUntil?.toISOString() ?? null) : null,
      hibernatedByCap: hibernated.map(({ squidId, squidName }) => ({ id: squidId, name: squidName })),
    }
  }
}

const settingsOf = ({ spendCapUsd, atCap, hibernateOrder, rpcRequestsCap }: BillingLimitsUsage) => ({
  spendCapUsd,
  atCap,
  hibernateOrder,
  rpcRequestsCap,
})

const twoDecimals = (dollars: string) => dollars.replace(/(\.\d{2})\d*$/, '$1')

/** @throws Refusal 405 for a playground, which has no billing */
function rejectPlayground(org: OrgScope): void {
  if (org.isPlayground) throw refuse('PLAYGROUND', 'The playground is free. Create an organization to set up billing.')
}

/** Returns the month as `yyyy-MM`. @throws Refusal 400 for a year or month that is not valid */
function monthParam({ year, month }: { year: string; month: string }): string {
  if (!/^20\d{2}$/.test(year) || !/^(0?[1-9]|1[0-2])$/.test(month))
    throw invalid('INVALID', 'The month must have the form receipts/2026/4')
  return `${year}-${month.padStart(2, '0')}`
}
