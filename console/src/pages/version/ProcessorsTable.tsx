import type { Processor, Squid } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { Activity, Copy, ScrollText } from 'lucide-react'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { copyWithToast } from '../../components/copy-with-toast.ts'
import { compactProcessorColumns, processorColumns } from './processor-columns.tsx'

/** The processors of a version, with their actions (spec 2.9). */
export function ProcessorsTable({ squid, isNarrow = false }: { squid: Squid; isNarrow?: boolean }) {
  const navigate = useNavigate()
  const { name: squidName, slot: squidSlot } = squid
  const menuOf = ({ name, metrics }: Processor) => ({
    label: `Actions for ${name}`,
    groups: [
      {
        id: 'processor',
        actions: [
          {
            id: 'logs',
            label: 'Show logs',
            icon: <ScrollText size={16} />,
            onAction: () =>
              void navigate({
                to: '/squids/$squidName/$squidSlot/logs',
                params: { squidName, squidSlot },
                search: { container: [name] },
              }),
          },
          {
            id: 'metrics',
            label: 'Open Prometheus metrics',
            icon: <Activity size={16} />,
            onAction: () => void window.open(metrics, '_blank', 'noopener'),
          },
          {
            id: 'copy',
            label: 'Copy metrics URL',
            icon: <Copy size={16} />,
            onAction: () => void copyWithToast(metrics, `The metrics URL of ${name} has been copied`),
          },
        ],
      },
    ],
  })
  return (
    <DataTable
      label="Processors"
      columns={isNarrow ? compactProcessorColumns : processorColumns}
      rows={squid.processors}
      idOf={({ name }) => name}
      menuOf={menuOf}
      empty={
        <EmptyState title="No processors" text="The manifest of this version defines none under deploy.processor." />
      }
    />
  )
}
