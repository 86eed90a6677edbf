import type { SquidSummary } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import type { ReactNode } from 'react'
import { open } from '../../api/client.ts'
import { squidsQuery } from '../../api/squids.ts'
import { useDeniedReason } from '../../components/access.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { formatBytes } from '../../lib/format.ts'
import { Card } from '../../ui/Card.tsx'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { DownloadButton } from './DownloadButton.tsx'
import { exportCommand, exportName } from './export-commands.ts'

const icon = <Download size={14} aria-hidden />

/** Lets customers who leave export every database and all receipts, even with unpaid bills. */
export default function ExportCard({ code }: { code: string }) {
  const squids = useQuery(squidsQuery(code))
  const exportDeniedReason = useDeniedReason('credentials.read')
  return (
    <Card title="Take your data with you">
      <ul className="divide-y divide-line">
        <ExportRow name="All receipts, by month and squid" note="CSV">
          <DownloadButton
            size={28}
            icon={icon}
            label="Export all receipts"
            fileName={`receipts-${code}.csv`}
            request={() => open('billing.exportReceipts', { params: { code } })}
          >
            Export
          </DownloadButton>
        </ExportRow>
        {exportDeniedReason === null ? (
          <QueryView query={squids} what="The squids">
            {(all) => <Databases code={code} squids={all.filter((squid) => squid.addons.postgres)} />}
          </QueryView>
        ) : (
          <li className="px-3.5 py-2.5 text-ink-2">{exportDeniedReason}</li>
        )}
      </ul>
    </Card>
  )
}

function Databases({ code, squids }: { code: string; squids: readonly SquidSummary[] }) {
  const [first] = squids
  return (
    <>
      {squids.map(({ reference, addons }) => (
        <ExportRow
          key={reference}
          name={reference}
          note={`SQL, ${formatBytes(addons.postgres?.disk.usedBytes ?? 0)} of data`}
        >
          <DownloadButton
            size={28}
            icon={icon}
            label={`Export ${reference}`}
            fileName={exportName(reference)}
            request={() => open('squids.exportDatabase', { params: { code, reference } })}
          >
            Export
          </DownloadButton>
        </ExportRow>
      ))}
      {first && (
        <li className="flex flex-col gap-2 px-3.5 py-2.5">
          <p className="text-ink-2">
            For a large database, use the command line to download it and restore it into any Postgres:
          </p>
          <CodeBlock code={exportCommand(location.origin, code, first.reference)} what="export command" isWrapped />
        </li>
      )}
    </>
  )
}

const ExportRow = ({ name, note, children }: { name: string; note: string; children: ReactNode }) => (
  <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-3.5 py-2.5">
    <p className="flex min-w-0 flex-1 basis-56 flex-wrap gap-x-3">
      <span className="font-medium wrap-anywhere">{name}</span>
      <span className="tabular text-ink-3">{note}</span>
    </p>
    {children}
  </li>
)
