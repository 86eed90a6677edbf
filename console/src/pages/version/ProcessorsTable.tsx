import type { Processor, Squid } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { Activity, Copy, ScrollText } from 'lucide-react'
import { actionsOn, useMembership, type ActionOn } from '../../components/actions.ts'
import { copyWithToast } from '../../components/copy-with-toast.ts'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { compactProcessorColumns, processorColumns } from './processor-columns.tsx'

type ProcessorContext = { showLogs: (processor: Processor) => void }

/** The actions on a processor of a version. */
const processorActions = {
  showLogs: { label: 'Show logs', icon: ScrollText, run: (processor, { showLogs }) => showLogs(processor) },
  openMetrics: {
    label: 'Open Prometheus metrics',
    icon: Activity,
    run: ({ metrics }) => window.open(metrics, '_blank', 'noopener'),
  },
  copyMetricsUrl: {
    label: 'Copy metrics URL',
    icon: Copy,
    run: ({ name, metrics }) => copyWithToast(metrics, `The metrics URL of ${name} has been copied`),
  },
} satisfies Record<string, ActionOn<Processor, ProcessorContext>>

/** The table of a version's processors, with their actions (spec 2.9). */
export function ProcessorsTable({ squid, isNarrow = false }: { squid: Squid; isNarrow?: boolean }) {
  const navigate = useNavigate()
  const { name: squidName, slot: squidSlot } = squid
  const context = {
    membership: useMembership(),
    showLogs: ({ name }: Processor) =>
      void navigate({
        to: '/squids/$squidName/$squidSlot/logs',
        params: { squidName, squidSlot },
        search: { container: [name] },
      }),
  }
  return (
    <DataTable
      label="Processors"
      columns={isNarrow ? compactProcessorColumns : processorColumns}
      rows={squid.processors}
      idOf={({ name }) => name}
      actions={(processor) => actionsOn(processorActions, processor, context)}
      empty={
        <EmptyState title="No processors" text="The manifest of this version defines none under deploy.processor." />
      }
    />
  )
}
