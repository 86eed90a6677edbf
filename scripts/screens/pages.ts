import { fullOrg, type Session } from './data.ts'

/** A page for screenshots. `isGuest`: the user is signed out. `press`: the name of a button to press first, for example to open a dialog. */
export type Screen = { name: string; path: string; isGuest?: true; press?: string }

const guest = (name: string, path: string): Screen => ({ name, path, isGuest: true })

/** Returns every page of the console, and each dialog with its own layout. */
export function screens({ deployments: { ok, failed, failedFirst } }: Session): Screen[] {
  const version = '/squids/erc20-transfers/v1'
  const broken = '/squids/erc20-transfers/v2'
  const tabs = ['details', 'logs', 'metrics', 'deployments', 'db', 'manifest', 'package', 'processors']
  return [
    guest('sign-in', '/'),
    guest('sign-up', '/signup'),
    guest('restore', '/restore'),
    guest('confirm-restore', '/restore/confirm/a-token'),
    guest('confirm-email', '/confirm-email'),
    guest('verify-email', '/verify-email'),
    guest('public-status-page', `/status/${fullOrg}`),
    { name: 'home', path: '/home' },
    { name: 'squids', path: '/squids' },
    { name: 'squids-none-found', path: '/squids?search=nothing-like-this' },
    { name: 'deploy', path: '/squids/deploy' },
    { name: 'version', path: version },
    { name: 'version-failed', path: broken },
    { name: 'version-crashing', path: '/squids/crashing/v1' },
    { name: 'version-hibernated', path: '/squids/asleep/v1' },
    { name: 'version-deploying', path: '/squids/dex-trades/v1' },
    { name: 'version-missing', path: '/squids/nothing/v9' },
    ...tabs.map((tab) => ({ name: `version-${tab}`, path: `${version}/${tab}` })),
    { name: 'deployment', path: `${version}/deployments/${ok}` },
    { name: 'deployment-failed', path: `${broken}/deployments/${failed}` },
    { name: 'deployment-changes', path: `${broken}/deployments/${failed}/changes` },
    { name: 'deployment-failed-first', path: `/squids/never-built/v1/deployments/${failedFirst}` },
    { name: 'playground', path: `${version}/playground` },
    { name: 'schema', path: `${version}/schema` },
    { name: 'dialog-add-tag', path: version, press: 'Add tag' },
    { name: 'monitoring', path: '/monitoring' },
    { name: 'alerts', path: '/monitoring/alerts' },
    { name: 'alerts-history', path: '/monitoring/alerts/history' },
    { name: 'alerts-rules', path: '/monitoring/alerts/rules' },
    { name: 'alerts-channels', path: '/monitoring/alerts/channels' },
    { name: 'alerts-deliveries', path: '/monitoring/alerts/deliveries' },
    { name: 'dialog-add-channel', path: '/monitoring/alerts/channels', press: 'Add channel' },
    { name: 'secrets', path: '/secrets' },
    { name: 'secrets-add', path: '/secrets/add' },
    { name: 'secrets-edit', path: '/secrets/edit/COINGECKO_KEY' },
    { name: 'rpc', path: '/rpc' },
    { name: 'rpc-token', path: '/rpc/token' },
    { name: 'rpc-chain', path: '/rpc/chains/eth' },
    { name: 'portal', path: '/portal/chains' },
    { name: 'portal-chain', path: '/portal/chains/eth' },
    { name: 'settings', path: '/settings' },
    { name: 'status-page', path: '/settings/status-page' },
    { name: 'dialog-new-incident', path: '/settings/status-page', press: 'New incident' },
    { name: 'billing', path: '/billing' },
    { name: 'billing-usage', path: '/billing/usage' },
    { name: 'billing-limits', path: '/billing/limits' },
    { name: 'admin-overview', path: '/admin' },
    { name: 'admin-deployments', path: '/admin/deployments' },
    { name: 'admin-organizations', path: '/admin/organizations' },
    { name: 'admin-organizations-none-found', path: '/admin/organizations?search=nothing-like-this' },
    { name: 'admin-squids', path: '/admin/squids' },
    { name: 'admin-squids-by-log-lines', path: '/admin/squids?sort=logs&order=desc' },
    { name: 'admin-users', path: '/admin/users' },
    { name: 'api-tokens', path: '/profile/api-tokens' },
    { name: 'api-tokens-create', path: '/profile/api-tokens/create' },
    { name: 'profile', path: '/profile/settings' },
    { name: 'preview', path: '/preview' },
    { name: 'create-organization', path: '/organizations/create' },
    { name: 'create-organization-invite', path: `/organizations/create/${fullOrg}` },
  ]
}
