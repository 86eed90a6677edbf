import { monthCsv } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, FileText } from 'lucide-react'
import { useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { open } from '../../api/client.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { LazySelect } from '../../components/LazySelect.tsx'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { saveFile } from '../../lib/save-file.ts'
import { Button } from '../../ui/Button.tsx'
import { Switch } from '../../ui/Switch.tsx'
import { BillingFrame } from './BillingFrame.tsx'
import { DownloadButton } from './DownloadButton.tsx'
import { ReceiptSummary } from './ReceiptSummary.tsx'
import { isMonth, monthTitle, recentMonths } from './months.ts'
import { receiptParams, receiptQuery, summaryQuery } from './queries.ts'
import { receiptColumns } from './receipt-columns.tsx'

const maxMonths = 12

const monthOf = ({ month }: { month?: unknown }, recent: readonly string[]): string =>
  typeof month === 'string' && isMonth(month) ? month : (recent[0] ?? '')

export const prefetch: Prefetch = ({ client, org, search }) => {
  if (org.limits.playground) return
  const month = monthOf(search, recentMonths(Date.now(), maxMonths))
  void client.prefetchQuery(summaryQuery(org.code))
  void client.prefetchQuery(receiptQuery(org.code, month, search['bySquid'] === 'true'))
}

/** The usage and receipt of one month (spec 2.5, `/billing/usage`). */
export default function UsagePage() {
  return (
    <BillingFrame title="Usage">
      <MonthUsage />
    </BillingFrame>
  )
}

function MonthUsage() {
  const { code } = useOrg()
  const search = useSearch({ from: '/app/billing/usage' })
  const navigate = useNavigate()
  const [recent] = useState(() => recentMonths(Date.now(), maxMonths))
  const month = monthOf(search, recent)
  const isBySquid = search.bySquid === 'true'
  const { data, error, errorUpdateCount, refetch } = useQuery(receiptQuery(code, month, isBySquid))
  const setFilters = (changes: { month?: string; bySquid?: 'true' | undefined }) =>
    void navigate({ to: '/billing/usage', search: (current) => ({ ...current, ...changes }), replace: true })
  const exportCsv = () => {
    if (!data) return
    saveFile(new Blob([monthCsv(data.items, isBySquid)], { type: 'text/csv;charset=utf-8' }), `usage-${month}.csv`)
  }
  const isEmpty = data !== undefined && data.items.length === 0
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-3">
        <LazySelect
          label="Month"
          className="w-36"
          options={[...new Set([...recent, month])].map((id) => ({ id, label: id }))}
          value={month}
          onChange={(id) => setFilters({ month: id })}
        />
        <Switch
          checked={isBySquid}
          onChange={({ target }) => setFilters({ bySquid: target.checked ? 'true' : undefined })}
        >
          Per squid
        </Switch>
        <div className="flex flex-1 flex-wrap justify-end gap-2">
          {data?.invoice && <InvoiceButton params={receiptParams(code, month)} number={data.invoice.number} />}
          <Button
            icon={<Download size={14} aria-hidden />}
            disabledReason={isEmpty ? 'No usage during this period' : null}
            isDisabled={data === undefined}
            onClick={exportCsv}
          >
            Export CSV
          </Button>
        </div>
      </div>
      <h2 className="mb-3 text-lg font-semibold">{monthTitle(month)}</h2>
      <div className="flex flex-col gap-5">
        <QueryTable
          label={`Usage of ${monthTitle(month)}`}
          what="The usage"
          query={{ data: data?.items, error, errorUpdateCount, refetch }}
          columns={isBySquid ? receiptColumns.bySquid : receiptColumns.merged}
          idOf={({ type, rate, squid }) => `${type} ${rate} ${squid?.id ?? ''}`}
          loadingRows={4}
          empty={{ title: 'No usage during this period' }}
        />
        {data && !isEmpty && <ReceiptSummary receipt={data} />}
      </div>
    </>
  )
}

type InvoiceButtonProps = { params: { code: string; year: string; month: string }; number: string }

/** Downloads the invoice of a closed month as a PDF. */
function InvoiceButton({ params, number }: InvoiceButtonProps) {
  return (
    <DownloadButton
      request={() => open('billing.getInvoice', { params })}
      fileName={`${number}.pdf`}
      icon={<FileText size={14} aria-hidden />}
    >
      Invoice {number}
    </DownloadButton>
  )
}
