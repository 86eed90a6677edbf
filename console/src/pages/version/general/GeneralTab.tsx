import { displayStatus, displayStatusLabels, failedDeployLabel, isHibernated, type Squid } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { Suspense } from 'react'
import type { Prefetch } from '../../../api/prefetch.ts'
import { prefetchVersion, type VersionPath } from '../../../api/version.ts'
import { shortImage } from '../../../components/deployment-title.ts'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { statusAppearance, StatusDot } from '../../../components/StatusDot.tsx'
import { SquidCostCard, squidCostQuery } from '../../../components/cost/SquidCostCard.tsx'
import { failedDeployOf } from '../../../components/squid/failed-deploy.ts'
import { statusReason } from '../../../components/squid/status-reason.ts'
import { TroubleshootingLink } from '../../../components/TroubleshootingLink.tsx'
import { syncSummary } from '../../../components/squid/sync.ts'
import { emptyValue } from '../../../lib/format.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Card, KeyValue, type KeyValueRow } from '../../../ui/Card.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { SkeletonRows } from '../../../ui/Skeleton.tsx'
import { newestQuery } from '../deployments/use-deployments.ts'
import { useVersion } from '../use-version.ts'
import { prefetchDomains, useDomainRow } from './domain-row.tsx'
import { HibernationNotice } from './HibernationNotice.tsx'
import { LastDeployment } from './LastDeployment.tsx'
import { UrlList } from './UrlList.tsx'
import { urlGroups } from './urls.ts'
import { lazyPart } from '../../../lib/lazy.tsx'

// The table is loaded lazily, because it is at the bottom, and its code is larger than that of the rest of the tab.
const ProcessorsTable = lazyPart(async () => ({
  default: (await import('../ProcessorsTable.tsx')).ProcessorsTable,
}))

export const prefetch: Prefetch<VersionPath> = (context) => {
  prefetchVersion(context, (squid) => {
    void context.client.prefetchQuery(newestQuery(context.org.code, String(squid.id)))
    prefetchDomains(context, squid)
  })
  const { client, org, params } = context
  const reference = `${params.squidName}@${params.squidSlot}`
  if (!org.limits.playground) void client.prefetchQuery(squidCostQuery({ code: org.code, reference }))
  void ProcessorsTable.preload()
}

/** The first tab of a version's page (spec 2.9). */
export default function GeneralTab() {
  const squid = useVersion()
  const domains = useDomainRow(squid)
  return (
    <>
      {isHibernated(squid) && <HibernationNotice squid={squid} />}
      <div className="grid items-start gap-4.5 min-[1400px]:grid-cols-[minmax(0,1fr)_330px]">
        <div className="flex min-w-0 flex-col gap-4.5">
          <Card>
            <KeyValue rows={rowsOf(squid, domains)} />
          </Card>
          {!isHibernated(squid) && (squid.processors ?? []).length > 0 && (
            <section aria-label="Processors">
              <h2 className="mb-2.5 text-md font-semibold">Processors</h2>
              <Suspense fallback={<SkeletonRows count={(squid.processors ?? []).length + 1} />}>
                <ProcessorsTable squid={squid} isNarrow />
              </Suspense>
            </section>
          )}
        </div>
        <div className="flex min-w-0 flex-col gap-4.5">
          <LastDeployment />
          <SquidCostCard key={squid.hibernatedAt ?? squid.deployedAt} squid={squid} />
        </div>
      </div>
    </>
  )
}

function rowsOf(squid: Squid, domains: KeyValueRow | null): KeyValueRow[] {
  const { description, deployedAt, hibernatedAt, createdAt } = squid
  const alerts = otherAlerts(squid)
  const rows: KeyValueRow[] = [
    { label: 'Status', value: <Status squid={squid} /> },
    ...urlGroups(squid).map(({ title, urls, note }) => ({
      label: title,
      value: <UrlList urls={urls} {...(note && { note })} />,
    })),
  ]
  if (domains) rows.push(domains)
  if (alerts.length > 0) rows.push({ label: 'Warnings', value: <Warnings alerts={alerts} />, isFlush: true })
  rows.push(
    { label: 'Description', value: description ?? emptyValue },
    { label: 'Image', value: <ImageName squid={squid} /> },
  )
  if (hibernatedAt) rows.push({ label: 'Hibernated', value: <RelativeTime at={hibernatedAt} /> })
  rows.push(
    { label: 'Deployed', value: deployedAt ? <RelativeTime at={deployedAt} /> : 'never' },
    { label: 'Created', value: <RelativeTime at={createdAt} /> },
  )
  return rows
}

/** The status of the version, as a link to the details, with a summary of the sync, and the causes if the version is degraded. */
function Status({ squid }: { squid: Squid }) {
  const status = displayStatus(squid)
  const summary = isHibernated(squid) ? null : syncSummary(squid.processors ?? [])
  const dot = <StatusDot {...statusAppearance[status]}>{displayStatusLabels[status]}</StatusDot>
  return (
    <>
      <span className="flex flex-wrap items-center gap-x-2">
        {isHibernated(squid) ? (
          dot
        ) : (
          <Link
            from="/squids/$squidName/$squidSlot"
            to="/squids/$squidName/$squidSlot/details"
            className="hover:underline"
          >
            {dot}
          </Link>
        )}
        {summary && <span className="tabular text-ink-3">{summary}</span>}
      </span>
      {status === 'DEGRADED' && <p className="mt-0.5 whitespace-pre-line text-ink-2">{statusReason(squid)}</p>}
    </>
  )
}

/** The alerts that the page does not report in another way: `FailedDeployNotice` reports a failed deployment. */
const otherAlerts = (squid: Squid): Squid['alerts'] =>
  failedDeployOf(squid) === null ? squid.alerts : squid.alerts.filter(({ label }) => label !== failedDeployLabel)

/** The alerts of the version, the most severe first. */
function Warnings({ alerts }: { alerts: Squid['alerts'] }) {
  return (
    <ul className="divide-y divide-line">
      {alerts.map(({ kind, label, severity, reason, since }) => (
        <li key={label}>
          <Alert tone={severity === 'CRITICAL' ? 'bad' : 'warn'} title={label} isFlush>
            {reason}
            {since && (
              <span className="text-ink-2">
                {' '}
                Since <RelativeTime at={since} />.
              </span>
            )}{' '}
            <TroubleshootingLink kind={kind} />
          </Alert>
        </li>
      ))}
    </ul>
  )
}

/** The short name of the image, as a link if users can pull the image. */
function ImageName({ squid: { image, links } }: { squid: Pick<Squid, 'image' | 'links'> }) {
  if (image === null) return <span className="text-ink-3">none yet</span>
  const name = <code title={image}>{shortImage(image)}</code>
  return (
    <span className="-my-1 flex items-center gap-1">
      {links.dockerImageUrl ? (
        <a href={links.dockerImageUrl} target="_blank" rel="noreferrer" className="text-accent hover:underline">
          {name}
        </a>
      ) : (
        name
      )}
      <CopyButton text={links.dockerImageUrl ?? image} what="image" />
    </span>
  )
}
