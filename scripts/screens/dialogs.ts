import type { Deployments, Screen, Step } from './screen.ts'

const dialog = (name: string, path: string, press: readonly Step[], more: Partial<Screen> = {}): Screen => ({
  name: `dialog-${name}`,
  path,
  press,
  states: ['full'],
  ...more,
})

const version = '/squids/erc20-transfers/v1'
const versionMenu = 'Actions for erc20-transfers@v1'
const access = (passwordUntil: string | null) => ({
  responses: { '**/api/v1/admin': { passwordUntil, hasPassword: true } },
})
/** The operator entered the password recently, and never entered it. */
const entered = access('2100-01-01T00:00:00.000Z')
const notEntered = access(null)
const owner = 'mia@harbour.example'
const domains = { '**/domains': { gatewayName: 'squids.harbour.example', domains: [] } }

/** Returns every dialog, menu and popover of the console with its own layout. */
export const dialogScreens = ({ ok }: Deployments): Screen[] => [
  dialog('add-tag', version, ['Add tag']),
  dialog('roll-back', '/squids', [versionMenu, 'Roll back…']),
  dialog('roll-back-to-deployment', `${version}/deployments`, [`Actions for deployment ${ok}`, 'Roll back to this']),
  dialog('redeploy', '/squids', [versionMenu, 'Redeploy']),
  dialog('hibernate', '/squids', [versionMenu, 'Hibernate']),
  dialog('delete', '/squids', [versionMenu, 'Delete']),
  dialog('row-menu', '/squids', [versionMenu]),
  dialog('tag-menu', version, ['Tag production']),
  dialog('mute', '/monitoring/alerts', ['Mute']),
  dialog('add-channel', '/monitoring/alerts/channels', ['Add channel']),
  dialog('edit-channel', '/monitoring/alerts/channels', ['Actions for Ops room', 'Edit']),
  dialog('invite', '/settings', ['Invite user']),
  dialog('add-domain', '/settings/domains', ['Add domain'], { responses: domains }),
  dialog('new-incident', '/settings/status-page', ['New incident']),
  dialog('card', '/billing', ['Add card']),
  dialog('store-key', '/profile/api-tokens/create', [{ fill: 'Token name', with: 'screenshots' }, 'Create']),
  dialog('command-palette', '/squids', [{ key: 'Control+k' }]),
  dialog('keyboard-help', '/squids', [{ key: '?' }]),
  dialog('alerts', '/squids', [/^Alerts: /]),
  dialog('account-menu', '/squids', ['Account of mia harbour']),
  dialog('operator-password', '/admin/organizations', ['Actions for new-harbour', 'Suspend'], notEntered),
  dialog('operator-suspend', '/admin/organizations', ['Actions for new-harbour', 'Suspend'], entered),
  dialog('operator-limits', '/admin/organizations', ['Actions for new-harbour', 'Change limits'], entered),
  dialog('operator-hibernate', '/admin/squids', [versionMenu, 'Hibernate'], entered),
  dialog('operator-sessions', '/admin/users', [`Actions for ${owner}`, 'Sessions'], entered),
  dialog('operator-maintenance', '/admin', ['Announce maintenance'], entered),
  { name: 'connection-bar', path: '/squids', hasLostConnection: true, states: ['full'] },
]
