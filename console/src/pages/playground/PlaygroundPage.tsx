import { squidActionChecks, type Squid } from '@shoal/contract'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ListTree } from 'lucide-react'
import { Suspense, useMemo, useState } from 'react'
import { EmptyState } from '../../components/EmptyState.tsx'
import { LazySelect } from '../../components/LazySelect.tsx'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { useSetting } from '../../lib/local-settings.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { CopyField } from '../../ui/CopyButton.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { ApiPage, type VersionParams } from './ApiPage.tsx'
import { endpointsOf, type PlaygroundEndpoint } from './endpoints.ts'
import { createFetcher } from './fetcher.ts'
import { lazyPart } from '../../lib/lazy.tsx'
import type { Prefetch } from '../../api/prefetch.ts'
import { prefetchVersion, type VersionPath } from '../../api/version.ts'

const GraphiqlEditor = lazyPart(() => import('./GraphiqlEditor.tsx'))
const route = getRouteApi('/app/squids/$squidName/$squidSlot/playground')

export const prefetch: Prefetch<VersionPath> = (context) => prefetchVersion(context)

/** Runs queries against the API of a version and shows its schema. */
export default function PlaygroundPage() {
  const version = route.useParams()
  const link = (
    <Link to="/squids/$squidName/$squidSlot/schema" params={version} className={buttonClass()}>
      <ListTree size={14} aria-hidden />
      Schema
    </Link>
  )
  return (
    <ApiPage title="GraphQL playground" version={version} link={link}>
      {(squid, params) => <Playground squid={squid} params={params} />}
    </ApiPage>
  )
}

function Playground({ squid, params }: { squid: Squid; params: VersionParams }) {
  const endpoints = endpointsOf(squid)
  const { endpoint: selectedId } = route.useSearch()
  const setSearch = useSetSearch(route)
  const disabledReason = squidActionChecks.copyEndpoint(squid)
  const current = endpoints.find(({ id }) => id === selectedId) ?? endpoints.at(-1)
  if (!current || disabledReason !== null)
    return (
      <EmptyState title="No API to query" text={disabledReason ?? 'The manifest of this version defines no API.'} />
    )
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <LazySelect
          label="Endpoint"
          className="w-44"
          options={endpoints}
          value={current.id}
          onChange={(id) => setSearch({ endpoint: id === endpoints.at(-1)?.id ? undefined : id })}
        />
        <div className="min-w-64 flex-1">
          <CopyField text={current.url} what="endpoint" />
        </div>
      </div>
      <Editor key={current.url} endpoint={current} params={params} />
    </>
  )
}

function Editor({
  endpoint: { url },
  params: { code, reference },
}: {
  endpoint: PlaygroundEndpoint
  params: VersionParams
}) {
  const theme = useSetting('theme')
  const [isProxied, setIsProxied] = useState(false)
  const fetcher = useMemo(
    () => createFetcher(url, { code, reference }, () => setIsProxied(true)),
    [url, code, reference],
  )
  return (
    <>
      {isProxied && (
        <p role="status" className="mb-2 text-ink-2">
          The CORS rules of this squid block the console, so Shoal forwards your queries. Add the origins of your own
          pages to its allowed origins.
        </p>
      )}
      <div className="h-[calc(100dvh-232px)] min-h-96 overflow-hidden rounded-lg border border-line">
        <Suspense fallback={<Skeleton className="h-full" />}>
          <GraphiqlEditor fetcher={fetcher} theme={theme} />
        </Suspense>
      </div>
    </>
  )
}
