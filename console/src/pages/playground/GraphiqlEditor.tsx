import 'graphiql/setup-workers/vite'
import { DOC_EXPLORER_PLUGIN } from '@graphiql/plugin-doc-explorer'
import { GraphiQL } from 'graphiql'
// These style sheets replace `graphiql/style.css`, because most of its 620 KB are fonts.
import '@graphiql/react/style.css'
import '@graphiql/plugin-doc-explorer/style.css'
import 'graphiql/graphiql.css'
import './graphiql.css'
import type { Fetcher } from './fetcher.ts'

// The menus of GraphiQL insert style elements with the nonce in `__webpack_nonce__`.
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce
Object.assign(globalThis, { __webpack_nonce__: nonce })

type Props = { fetcher: Fetcher; theme: 'light' | 'dark' }

/** GraphiQL, which only the playground loads. It keeps the user's queries in the session storage of the browser. */
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
