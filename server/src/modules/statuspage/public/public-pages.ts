import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { App } from '../../../app.ts'
import { oncePer } from '../../../collections/once-per.ts'
import { BoundedMap } from '../../../collections/bounded-map.ts'
import { minutes } from '../../../clock.ts'
import { isUnavailable } from '../../../db/unavailable.ts'
import { cacheFor } from '../../../collections/cache-for.ts'
import { listPublicSlugs } from '../page-store.ts'
import { readPage } from './read-page.ts'
import { renderFeed } from './render-feed.ts'
import { renderHtml } from './render-html.ts'

export const formats = ['html', 'json', 'feed'] as const
export type Format = (typeof formats)[number]

/** A cached response: the body in each encoding, and its ETag. */
export type RenderedFile = { etag: string; identity: Buffer; br: Buffer; gzip: Buffer }
type RenderedPage = Record<Format, RenderedFile> & {
  /** Renders the HTML with a notice that it is not current. */
  outdated: () => Promise<RenderedFile>
}

/**
 * How long a process uses a rendered page and the list of slugs. Browsers cache pages, too: users see changes within a minute.
 */
const pageLifetimeMs = 15_000
const slugsLifetimeMs = 5_000
const maxCachedPages = 200
/** How long the last copy of a page is served while the database does not respond. */
const lastCopyLifetimeMs = minutes(60)

type PagesApp = Pick<App, 'db' | 'clock' | 'config'>

/**
 * The public pages that this process serves. Regardless of the number of requests, it reads the slugs at most every five
 * seconds and renders each page at most every fifteen seconds.
 */
export class PublicPages {
  readonly #app: PagesApp
  readonly #pages = new BoundedMap<() => Promise<RenderedPage | null>>(maxCachedPages)
  /** The page from which `find` last returned a file, for each slug. */
  readonly #lastCopies = new BoundedMap<{ page: RenderedPage; atMs: number }>(maxCachedPages)
  #slugs: () => Promise<Map<string, number>>
  /** The number of renderings, for tests. */
  renderings = 0

  constructor(app: PagesApp) {
    this.#app = app
    this.#slugs = this.#createSlugCache()
  }

  /**
   * Returns a file of the page with a slug; null if there is no public page. While the database does not respond, returns the
   * last copy that this process served, for up to an hour.
   * @throws DatabaseUnavailable if there is no such copy
   */
  async find(slug: string, format: Format): Promise<RenderedFile | null> {
    const nowMs = this.#app.clock.now().getTime()
    try {
      const page = await this.#findCurrent(slug)
      if (page) this.#lastCopies.set(slug, { page, atMs: nowMs })
      else this.#lastCopies.delete(slug)
      return page?.[format] ?? null
    } catch (error) {
      const copy = this.#lastCopies.get(slug)
      if (!isUnavailable(error) || !copy || nowMs - copy.atMs > lastCopyLifetimeMs) throw error
      return format === 'html' ? await copy.page.outdated() : copy.page[format]
    }
  }

  async #findCurrent(slug: string): Promise<RenderedPage | null> {
    const orgId = (await this.#slugs()).get(slug)
    if (orgId === undefined) return null
    const key = String(orgId)
    const page = this.#pages.get(key) ?? cacheFor(this.#app, pageLifetimeMs, () => this.#render(orgId))
    this.#pages.set(key, page)
    return await page()
  }

  /** Discards all cached pages and slugs. Called after a change of settings or incidents was committed. */
  evictAll(): void {
    this.#slugs = this.#createSlugCache()
    this.#pages.clear()
    this.#lastCopies.clear()
  }

  #createSlugCache() {
    return cacheFor(this.#app, slugsLifetimeMs, async () => {
      const rows = await listPublicSlugs(this.#app.db)
      return new Map(rows.map(({ slug, orgId }) => [slug, orgId]))
    })
  }

  async #render(orgId: number): Promise<RenderedPage | null> {
    this.renderings += 1
    const page = await readPage(this.#app, orgId)
    if (!page) return null
    const [html, json, feed] = await Promise.all([
      compress(renderHtml(page)),
      compress(JSON.stringify(page)),
      compress(renderFeed(page)),
    ])
    return { html, json, feed, outdated: once(() => compress(renderHtml(page, { notice: 'outdated' }))) }
  }
}

function once<T>(compute: () => Promise<T>): () => Promise<T> {
  let computed: Promise<T> | null = null
  return () => (computed ??= compute())
}

async function compress(text: string): Promise<RenderedFile> {
  const identity = Buffer.from(text)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5 }
  return {
    etag: `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
    identity,
    br: await promisify(brotliCompress)(identity, { params }),
    gzip: await promisify(gzip)(identity),
  }
}

/**
 * Returns the public pages of an app, which the routes that serve pages share with the handlers that change them. A process has one
 * app; a test may have several, each with its own database.
 */
export const publicPagesOf = oncePer(
  ({ database }: PagesApp & Pick<App, 'database'>) => database,
  (app) => new PublicPages(app),
)
