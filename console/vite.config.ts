import optimizeLocales from '@react-aria/optimize-locales-plugin'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, loadEnv } from 'vite'
import { compressed } from './build/compressed.ts'
import { headHints, inlineIcon } from './build/head-hints.ts'
import { leanContract } from './build/lean-contract.ts'
import { shell } from './build/shell.ts'
import { styleNonce } from './build/style-nonce.ts'

// The build has a few named chunks instead of many small ones, each below the maximum size. A module is in the first chunk that matches.
const chunks = [
  {
    name: 'framework',
    // The excluded files are in the chunks of the lists, forms and charts that use them.
    test: /rolldown\/runtime|node_modules\/(react|react-dom|scheduler|use-sync-external-store|@tanstack\/(react-router|router-core|history|store|react-store|query-core|react-query))\/(?!.*(infiniteQueryObserver|queriesObserver|useBlocker|useInfiniteQuery|useQueries)\.js)/,
    includeDependenciesRecursively: false,
  },
  // Form validation. The contract's files without schemas are excluded, because they are small and many pages need them.
  {
    name: 'schemas',
    test: /node_modules\/zod\/|contract\/src\/(?!alert-labels|alert-rules|api-error|billable|countries|csv|documentation|limits|log-levels|onboarding-answers|operator-sorts|org-code|org-status|permissions|receipt-csv|rpc-token|squid-status|status-page-options|token-scope|url)|src\/components\/(form-schemas|new-password)/,
    includeDependenciesRecursively: false,
  },
  // Texts that few pages need. Without these chunks, the bundler would put them into chunks that all pages load.
  { name: 'countries', test: /contract\/src\/countries/ },
  { name: 'bills', test: /contract\/src\/(billable|csv|receipt-csv)/ },
  { name: 'alerts', test: /contract\/src\/alert-rules/ },
  { name: 'options', test: /contract\/src\/(log-levels|onboarding-answers|status-page-options|token-scope)/ },
  // Code that every page needs first, plus small parts that nearly every page uses and that are not worth separate
  // requests.
  {
    name: 'app',
    test: /src\/app\/main\.tsx$|src\/(api\/(?!alerts|computed|deployments|failed-first-deployments|graphql|lines|long-list|operator-|pages|poll|roles|seed|squids|total-pages|version)|lib\/(?!device|format|hotkeys|preview-mode|save-file|theme-tokens|ticker|utc-dates))|src\/components\/(confirm|ErrorState|PageHeading)\.tsx?$|src\/ui\/(Alert|Field|IconButton|Skeleton|prefetch|tones)\.tsx?$|lucide-react\/dist\/esm\/icons\/x\.m?js$/,
  },
  // The frame of all pages behind the session gate, and small parts that most of them use.
  {
    name: 'layout',
    test: /src\/app\/layouts\/(AppLayout|nav)|src\/api\/(alerts|failed-first-deployments|long-list|poll|roles|seed|squids|version)|src\/components\/(access|DialogHost|open-dialog|deployment-title|EmptyState|LazyDialog|LazySelect|LinkButton|NavTabs|PageHeader|QueryView|RelativeTime|StatusDot|data-table\/url-state|squid\/(sync|SquidStatus|FailedDeployMark|failed-deploy|status-reason))\.tsx?$|src\/lib\/(format|hotkeys|preview-mode|ticker)|src\/ui\/(action|Badge|Card|copy-text|Kbd|ProgressBar|SearchField|control-classes|selection-text)\.tsx?$|lucide-react\/dist\/esm\/icons\/(arrow-down|arrow-up|eye|eye-off|play)\.m?js$/,
  },
  // Tables and the actions of rows. Pages without a table do not load it.
  {
    name: 'table',
    test: /src\/components\/(data-table\/|(ActionButton|actions|AlertSeverity|copy-with-toast|local-list)\.tsx?|squid\/(endpoint-of|use-version-actions|version-actions)\.tsx?)|src\/api\/pages|lucide-react\/dist\/esm\/icons\/(ellipsis|list-tree|pencil|rotate-cw|undo-2)\.m?js$|node_modules\/@tanstack\/((react-virtual|virtual-core)\/|.*[iI]nfiniteQuery(Observer)?\.js)/,
  },
  // Code that the tabs and dialogs of the operator's console share.
  {
    name: 'operator',
    test: /src\/api\/operator-endpoints|src\/pages\/operator\/(dialogs|queries|reference-of|use-with-recent-password)/,
  },
  // Forms, and the sign-in pages, which contain little else.
  {
    name: 'forms',
    test: /src\/components\/FormShell|@tanstack\/react-router\/.*\/useBlocker\.js|src\/ui\/(Field|TextField|Checkbox)\.tsx$|src\/pages\/auth\/(?!Altcha|Confirm|Oauth|Restore|SignUp|Turnstile|Verify)|src\/app\/layouts\/GuestLayout/,
  },
  // Overlays and option lists, which use React Aria.
  {
    name: 'overlays',
    test: /node_modules\/(react-aria|react-stately|react-aria-components|@react-aria|@react-stately|@internationalized)\/|src\/ui\/(CommandList|Dialog|Menu|Popover|Select|Tabs|ToastRegion)\.tsx$/,
  },
]

const namedChunks = new RegExp(
  `^(${chunks.map(({ name }) => name).join('|')}|Altcha|CommandPalette|SquidsPage|Graphiql.*|Plot|Turnstile|Tour|babel|driver.*|estree|highlight|jsonMode|ManifestTab|monaco.*|mouseTarget|sentry|standalone|.*worker)$`,
)

/** The server's settings, from which `npm run dev` takes the port of the API. */
const settings = loadEnv('', import.meta.dirname, 'SHOAL_')

export default defineConfig({
  plugins: [
    react(),
    tailwindcss(),
    optimizeLocales.vite({ locales: ['en-US'] }),
    leanContract(),
    styleNonce(),
    inlineIcon(),
    shell(),
    headHints(),
    compressed(),
  ],
  server: { proxy: { '/api': `http://127.0.0.1:${settings['SHOAL_PORT'] ?? 4000}` } },
  // Vite detects GraphiQL's workers only in files that it does not prebundle. It does not prebundle the dependencies of these files
  // either, except the CommonJS ones that `include` lists.
  optimizeDeps: {
    exclude: ['graphiql/setup-workers/vite', '@graphiql/react/setup-workers/vite'],
    include: ['graphql-language-service', 'picomatch-browser'].map(
      (name) => `@graphiql/react > monaco-graphql > ${name}`,
    ),
  },
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Every page loads the list of all chunks. To keep it small, hashes have seven characters, the fewest possible, and
        // only the chunks above and those that tests search for have names.
        chunkFileNames: ({ name }) => (namedChunks.test(name) ? 'assets/[name]-[hash:7].js' : 'assets/[hash:7].js'),
        codeSplitting: {
          groups: chunks.map((chunk, index) => ({ ...chunk, priority: chunks.length - index })),
        },
      },
    },
  },
})
