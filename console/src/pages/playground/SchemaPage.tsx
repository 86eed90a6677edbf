import { squidActionChecks, type Squid, type SquidSummary } from '@shoal/contract'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Play } from 'lucide-react'
import { useMemo } from 'react'
import { useSearchText } from '../../components/data-table/url-state.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { SetupGuide } from '../../components/SetupGuide.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import { SearchField } from '../../ui/SearchField.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { ApiPage, type VersionParams } from './ApiPage.tsx'
import { endpointsOf } from './endpoints.ts'
import { createFetcher } from './fetcher.ts'
import { graphqlRecipes } from './recipes.ts'
import { exampleQuery, introspectionQuery, schemaOf, searchTypes, type Schema } from './schema.ts'
import { TypeCard } from './TypeCard.tsx'
import { TypeList } from './TypeList.tsx'
import type { Prefetch } from '../../api/prefetch.ts'
import { onlyIf } from '../../api/query.ts'
import { prefetchVersion, type VersionPath } from '../../api/version.ts'

export const prefetch: Prefetch<VersionPath> = (context) => {
  const { client, org, params } = context
  const version = { code: org.code, reference: `${params.squidName}@${params.squidSlot}` }
  prefetchVersion(context, (squid) => {
    const url = describableUrlOf(squid)
    if (url !== null) void client.prefetchQuery(schemaQuery(url, version))
  })
}

const route = getRouteApi('/app/squids/$squidName/$squidSlot/schema')

/** The types and fields of a version's API, and how to query it. */
export default function SchemaPage() {
  const version = route.useParams()
  const link = (
    <Link to="/squids/$squidName/$squidSlot/playground" params={version} className={buttonClass()}>
      <Play size={14} aria-hidden />
      Playground
    </Link>
  )
  return (
    <ApiPage title="GraphQL schema" version={version} link={link}>
      {(squid, params) => <SchemaOf squid={squid} params={params} />}
    </ApiPage>
  )
}

type Props = { squid: Squid; params: VersionParams }

/** The URL of the API whose schema the page shows; null if the version has no API that responds. */
const describableUrlOf = (squid: Pick<SquidSummary, 'status' | 'lastDeploy' | 'api' | 'slot'>): string | null =>
  squidActionChecks.copyEndpoint(squid) === null ? (endpointsOf(squid)[0]?.url ?? null) : null

const schemaQuery = (url: string, params: VersionParams) =>
  queryOptions({
    queryKey: ['schema', url, params],
    queryFn: async () => schemaOf(await createFetcher(url, params, () => {})({ query: introspectionQuery })),
    staleTime: 60_000,
    // The page shows the API's error immediately, with a button to retry.
    retry: false,
  })

function SchemaOf({ squid, params }: Props) {
  const url = describableUrlOf(squid)
  const schema = useQuery(onlyIf(url !== null, schemaQuery(url ?? '', params)))
  if (url === null)
    return (
      <EmptyState
        title="No API to describe"
        text={squidActionChecks.copyEndpoint(squid) ?? 'The manifest of this version defines no API.'}
      />
    )
  return (
    <QueryView query={schema} what="The schema" skeleton={<Skeleton className="h-96" />}>
      {(data) => <Types schema={data} url={url} />}
    </QueryView>
  )
}

function Types({ schema, url }: { schema: Schema; url: string }) {
  const { type: selectedName } = route.useSearch()
  const { text, deferred, setText } = useSearchText(route, 'search')
  const foundTypes = useMemo(() => searchTypes(schema.types, deferred), [schema, deferred])
  const recipes = useMemo(() => graphqlRecipes(url, exampleQuery(schema)), [url, schema])
  const selected = foundTypes.find(({ name }) => name === selectedName) ?? foundTypes[0]
  return (
    <div className="flex flex-col gap-4.5">
      <div className="grid items-start gap-4.5 lg:grid-cols-[330px_minmax(0,1fr)]">
        <div className="flex min-w-0 flex-col gap-2">
          <SearchField label="Search types and fields" value={text} onChange={setText} className="w-full" />
          <TypeList types={foundTypes} total={schema.types.length} selected={selected?.name} />
        </div>
        {selected ? (
          <TypeCard type={selected} search={deferred} />
        ) : (
          <EmptyState title="Nothing matches" text="No type, field, argument or value of the schema has this text." />
        )}
      </div>
      <SetupGuide recipes={recipes} />
    </div>
  )
}
