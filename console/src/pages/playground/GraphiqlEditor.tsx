import 'graphiql/setup-workers/vite'
import { DOC_EXPLORER_PLUGIN } from '@graphiql/plugin-doc-explorer'
import { GraphiQL } from 'graphiql'
// Not `graphiql/style.css`: most of its 620 KB are fonts.
import '@graphiql/react/style.css'
import '@graphiql/plugin-doc-explorer/style.css'
import 'graphiql/graphiql.css'
import './graphiql.css'
import type { Fetcher } from './fetcher.ts'

type Props = { fetcher: Fetcher; theme: 'light' | 'dark' }

/** GraphiQL with all its dependencies, loaded on this page only. Queries are kept for the browser session. */
export default function GraphiqlEditor({ fetcher, theme }: Props) {
  return (
    <GraphiQL
      fetcher={fetcher}
      forcedTheme={theme}
      isHeadersEditorEnabled={false}
      plugins={[]}
      referencePlugin={DOC_EXPLORER_PLUGIN}
      visiblePlugin={DOC_EXPLORER_PLUGIN}
      defaultQuery=""
      storage={window.sessionStorage}
    >
      <GraphiQL.Logo> </GraphiQL.Logo>
    </GraphiQL>
  )
}
