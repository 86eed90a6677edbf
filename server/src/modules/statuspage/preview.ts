import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { mayBeShown } from './page-store.ts'
import { readPage } from './public/read-page.ts'
import { renderHtml } from './public/render-html.ts'

/** Administrators can load the page of the console again for another address. */
const lifetimeMs = minutes(60)
const context = 'status-preview'

/** Returns the address of a preview, which works for an hour and without a session: browsers open links without its token. */
export function previewUrlOf(
  { config, clock, sealer }: Pick<App, 'config' | 'clock' | 'sealer'>,
  orgId: number,
): string {
  const sealed = sealer.seal(JSON.stringify({ orgId, untilMs: clock.now().getTime() + lifetimeMs }), context)
  return `${config.publicUrl}/status-preview/${Buffer.from(sealed).toString('base64url')}`
}

/** Renders the page of a preview's address as it is now; null if the address is wrong or too old, or the organization may have no page. */
export async function renderPreview(
  app: Pick<App, 'db' | 'config' | 'clock' | 'sealer'>,
  key: string,
): Promise<string | null> {
  const orgId = openKey(app, key)
  if (orgId === null || !(await mayBeShown(app.db, orgId))) return null
  const page = await readPage(app, orgId)
  return page && renderHtml(page, { notice: 'preview' })
}

function openKey({ clock, sealer }: Pick<App, 'clock' | 'sealer'>, key: string): number | null {
  try {
    const text = sealer.open(Buffer.from(key, 'base64url').toString(), context)
    const { orgId, untilMs } = JSON.parse(text) as { orgId: number; untilMs: number }
    return clock.now().getTime() < untilMs ? orgId : null
  } catch {
    // This installation did not make the address, or its key was removed.
    return null
  }
}
