import type { SecretUse } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import type { Column } from '../../components/data-table/columns.ts'
import { timeColumn } from '../../components/data-table/named-columns.tsx'
import { StatusDot } from '../../components/StatusDot.tsx'

const maxShownVersions = 3

/** The columns of the list of secrets. */
export const secretColumns: Column<SecretUse>[] = [
  {
    id: 'name',
    header: 'Name',
    sortBy: ({ name }) => name,
    cell: ({ name }) => <code className="block py-2 font-medium wrap-anywhere whitespace-normal">{name}</code>,
  },
  { id: 'versions', header: 'Used by', hideBelow: 'sm', cell: ({ versions }) => <Versions versions={versions} /> },
  {
    id: 'state',
    header: 'State',
    width: '150px',
    cell: ({ versions }) => <State versions={versions} />,
  },
  timeColumn('Changed', ({ updatedAt }) => updatedAt, {
    id: 'updated',
    width: '130px',
    hideBelow: 'sm',
    sortBy: ({ updatedAt }) => Date.parse(updatedAt),
  }),
]

function Versions({ versions }: Pick<SecretUse, 'versions'>) {
  if (versions.length === 0) return <span className="text-ink-3">no version</span>
  const hiddenVersions = versions.slice(maxShownVersions)
  return (
    <span className="flex flex-wrap gap-x-2.5 py-1.5">
      {versions.slice(0, maxShownVersions).map(({ name, slot, reference }) => (
        <Link
          key={reference}
          to="/squids/$squidName/$squidSlot"
          params={{ squidName: name, squidSlot: slot }}
          className="min-w-0 wrap-anywhere whitespace-normal text-accent hover:underline"
        >
          {reference}
        </Link>
      ))}
      {hiddenVersions.length > 0 && (
        <span
          className="text-ink-3"
          tabIndex={0}
          data-tip={hiddenVersions.map(({ reference }) => reference).join(', ')}
        >
          and {hiddenVersions.length} more
        </span>
      )}
    </span>
  )
}

function State({ versions }: Pick<SecretUse, 'versions'>) {
  if (versions.length === 0) return <StatusDot tone="neutral">Unused</StatusDot>
  const outdated = versions.filter(({ isOutdated }) => isOutdated)
  if (outdated.length === 0) return <StatusDot tone="good">Applied</StatusDot>
  const reason = `${outdated.map(({ reference }) => reference).join(', ')}: the old value is used until a restart`
  return (
    <StatusDot tone="warn" reason={reason}>
      Restart needed
    </StatusDot>
  )
}
