import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { mayBeShown } from './page-store.ts'
import { readPage } from './public/read-page.ts'
import { renderHtml } from './public/render-html.ts'

/** An administrator who needs the preview for longer reloads the console, which then shows a new address. */
const lifetimeMs = minutes(60)
const context = 'status-preview'

/**
 * Returns the address of a preview. It works for an hour and without a session, because browsers send no session token when they
 * open a link.
 */
export function previewUrlOf(
  { config, clock, sealer }: Pick<App, 'config' | 'clock' | 'sealer'>,
  orgId: number,
): string {
  const sealed = sealer.seal(JSON.stringify({ orgId, untilMs: clock.now().getTime() + lifetimeMs }), context)
  return `${config.publicUrl}/status-preview/${Buffer.from(sealed).toString('base64url')}`
}

/**
 * Renders the current page for the key in a preview's address; null if the key is invalid or expired, or the page may not be
 * shown.
 */
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
    // The key is malformed, or was sealed with a key that this installation does not have.
    return null
  }
}
