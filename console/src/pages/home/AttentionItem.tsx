import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { StatusDot } from '../../components/StatusDot.tsx'
import type { Item } from './attention.ts'

/** One line of the home page. Its link selects the organization with this code. */
export function AttentionItem({ item, code }: { item: Item; code: string }) {
  const { tone, label, detail, since, squid } = item
  return (
    <li className="flex flex-wrap items-baseline gap-x-4 gap-y-0.5 px-3.5 py-2.5">
      <div className="xs:w-44">
        <StatusDot tone={tone}>
          <ItemLink item={item} code={code}>
            <span className="whitespace-normal">{label}</span>
          </ItemLink>
        </StatusDot>
      </div>
      {squid && (
        <code className="wrap-anywhere text-ink-2">
          {squid.name}@{squid.slot}
        </code>
      )}
      {detail && <span className="min-w-0 flex-1 basis-72 text-ink-2">{detail}</span>}
      {since && (
        <span className="ml-auto text-ink-3 max-xs:ml-0">
          <RelativeTime at={since} />
        </span>
      )}
    </li>
  )
}

function ItemLink({
  item: { page, squid, deployId },
  code,
  children,
}: {
  item: Item
  code: string
  children: ReactNode
}) {
  const search = { organization: code }
  const className = 'hover:underline'
  const params = { squidName: squid?.name ?? '', squidSlot: squid?.slot ?? '' }
  if (page === 'billing' || page === 'alerts')
    return (
      <Link to={page === 'billing' ? '/billing' : '/monitoring/alerts'} search={search} className={className}>
        {children}
      </Link>
    )
  if (page === 'version')
    return (
      <Link to="/squids/$squidName/$squidSlot" params={params} search={search} className={className}>
        {children}
      </Link>
    )
  return (
    <Link
      to="/squids/$squidName/$squidSlot/deployments/$deployId"
      params={{ ...params, deployId: String(deployId) }}
      search={search}
      className={className}
    >
      {children}
    </Link>
  )
}
