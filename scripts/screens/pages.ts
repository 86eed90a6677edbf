import { dialogScreens } from './dialogs.ts'
import { emptyOrg, fullOrg } from './orgs.ts'
import type { Deployments, Persona, Screen } from './screen.ts'
import { states } from './states.ts'

const screenOf =
  (as: Persona) =>
  (name: string, path: string, more: Partial<Screen> = {}): Screen => ({ name, path, as, ...more })
const guest = screenOf('guest')
const full = { states: ['full'] } as const
const docs = { hasOwnTheme: true } as const

/** Returns every page of the console, and each dialog, menu and popover with its own layout. */
export function screens(deployments: Deployments): Screen[] {
  return [
    ...publicScreens(),
    ...squidScreens(deployments),
    ...monitoringScreens(),
    ...orgScreens(),
    ...operatorScreens(),
    ...accountScreens(),
    ...dialogScreens(deployments),
  ]
}

const publicScreens = (): Screen[] => [
  guest('sign-in', '/'),
  guest('sign-in-invitation', `/?acceptInviteId=1&email=new%40harbour.example`),
  guest('sign-up', '/signup'),
  guest('restore', '/restore'),
  guest('confirm-restore', '/restore/confirm/a-token'),
  guest('confirm-email', '/confirm-email'),
  guest('verify-email', '/verify-email'),
  guest('public-status-page', `/status/${fullOrg}`),
  guest('public-status-page-unknown', `/status/${emptyOrg}`),
  guest('docs', '/docs/', docs),
  guest('docs-deploy', '/docs/deploy', docs),
  guest('docs-api', '/docs/api/squids', docs),
  screenOf('unconfirmed')('unconfirmed', '/squids'),
  screenOf('withoutTerms')('terms', '/squids'),
  screenOf('newcomer')('welcome', '/squids'),
  screenOf('invited')('invitations', '/squids'),
  { name: 'maintenance', path: '/squids', states: ['unavailable'] },
]

function squidScreens({ ok, failed, failedFirst, running }: Deployments): Screen[] {
  const version = '/squids/erc20-transfers/v1'
  const broken = '/squids/erc20-transfers/v2'
  const tabs = ['details', 'logs', 'metrics', 'deployments', 'db', 'manifest', 'package', 'processors']
  return [
    { name: 'home', path: '/home' },
    { name: 'squids', path: '/squids' },
    { name: 'squids-none-found', path: '/squids?search=nothing-like-this', ...full },
    screenOf('viewer')('squids-viewer', '/squids'),
    { name: 'deploy', path: '/squids/deploy' },
    { name: 'version', path: version },
    screenOf('viewer')('version-viewer', version),
    { name: 'version-failed', path: broken, ...full },
    { name: 'version-crashing', path: '/squids/crashing/v1', ...full },
    { name: 'version-hibernated', path: '/squids/asleep/v1', ...full },
    { name: 'version-deploying', path: '/squids/dex-trades/v1', ...full },
    { name: 'version-missing', path: '/squids/nothing/v9', ...full },
    ...tabs.map((tab) => ({ name: `version-${tab}`, path: `${version}/${tab}` })),
    { name: 'version-deploying-logs', path: '/squids/dex-trades/v1/logs', ...full },
    { name: 'deployment', path: `${version}/deployments/${ok}` },
    { name: 'deployment-running', path: `/squids/dex-trades/v1/deployments/${running}`, ...full },
    { name: 'deployment-failed', path: `${broken}/deployments/${failed}`, ...full },
    { name: 'deployment-changes', path: `${broken}/deployments/${failed}/changes` },
    { name: 'deployment-failed-first', path: `/squids/never-built/v1/deployments/${failedFirst}`, ...full },
    { name: 'playground', path: `${version}/playground` },
    { name: 'schema', path: `${version}/schema` },
  ]
}

const monitoringScreens = (): Screen[] => [
  { name: 'monitoring', path: '/monitoring' },
  { name: 'alerts', path: '/monitoring/alerts' },
  { name: 'alerts-history', path: '/monitoring/alerts/history' },
  { name: 'alerts-rules', path: '/monitoring/alerts/rules' },
  { name: 'alerts-channels', path: '/monitoring/alerts/channels' },
  { name: 'alerts-deliveries', path: '/monitoring/alerts/deliveries' },
]

const orgScreens = (): Screen[] => [
  { name: 'secrets', path: '/secrets' },
  screenOf('viewer')('secrets-viewer', '/secrets'),
  { name: 'secrets-add', path: '/secrets/add' },
  { name: 'secrets-edit', path: '/secrets/edit/COINGECKO_KEY' },
  { name: 'rpc', path: '/rpc' },
  { name: 'rpc-token', path: '/rpc/token' },
  { name: 'rpc-chain', path: '/rpc/chains/eth' },
  { name: 'portal', path: '/portal/chains', as: 'previewer', states },
  { name: 'portal-chain', path: '/portal/chains/ethereum-mainnet', as: 'previewer', states },
  screenOf('previewer')('portal-chain-unknown', '/portal/chains/nothing'),
  { name: 'settings', path: '/settings' },
  { name: 'domains', path: '/settings/domains' },
  { name: 'status-page', path: '/settings/status-page' },
  { name: 'billing', path: '/billing' },
  { name: 'billing-usage', path: '/billing/usage' },
  { name: 'billing-limits', path: '/billing/limits' },
]

const operatorScreens = (): Screen[] => [
  { name: 'admin-overview', path: '/admin' },
  { name: 'admin-deployments', path: '/admin/deployments' },
  { name: 'admin-organizations', path: '/admin/organizations' },
  { name: 'admin-organizations-none-found', path: '/admin/organizations?search=nothing-like-this', ...full },
  { name: 'admin-squids', path: '/admin/squids' },
  { name: 'admin-squids-by-log-lines', path: '/admin/squids?sort=logs&order=desc', ...full },
  { name: 'admin-users', path: '/admin/users' },
]

const accountScreens = (): Screen[] => [
  { name: 'api-tokens', path: '/profile/api-tokens' },
  screenOf('viewer')('api-tokens-none', '/profile/api-tokens'),
  { name: 'api-tokens-create', path: '/profile/api-tokens/create' },
  { name: 'profile', path: '/profile/settings' },
  { name: 'preview', path: '/preview', ...full },
  { name: 'create-organization', path: '/organizations/create', ...full },
  { name: 'create-organization-invite', path: `/organizations/create/${fullOrg}` },
]
