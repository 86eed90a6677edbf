import type { StatusPage } from '@shoal/contract'
import { statusPageLimits } from '@shoal/contract'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import { invalidField, refuse } from '../../errors.ts'
import { isReservedCode } from '../../reserved-codes.ts'
import type { OrgScope } from '../call.ts'
import { previewUrlOf } from './preview.ts'
import {
  countReservedSlugs,
  findPage,
  reserveSlug,
  isSlugFree,
  listTags,
  lockSlugs,
  releaseSlug,
  replaceTags,
  restartMeasuring,
  savePage,
} from './page-store.ts'

/** How long a previous slug of a page stays reserved for its organization. */
const reservedMs = days(90)

/** Returns the settings of the organization's page; defaults if it has never saved any. */
export async function readSettings(
  app: Pick<App, 'db' | 'config' | 'clock' | 'sealer'>,
  org: OrgScope,
): Promise<StatusPage> {
  const page = await findPage(app.db, org.id)
  const tags = await listTags(app.db, org.id)
  const slug = page?.slug ?? org.code
  return {
    isEnabled: page?.isEnabled ?? false,
    title: page?.title ?? (org.name ?? org.code).slice(0, 60),
    slug,
    tags: tags.map(({ squidName, tag, name }) => ({ squid: squidName, tag, name })),
    alertKinds: page?.alertKinds ?? [],
    url: pageUrl(app, slug),
    previewUrl: page && !page.isEnabled && org.roleType === 'admin' ? previewUrlOf(app, org.id) : null,
  }
}

/** Returns the public URL of a page. Its origin is that of the configuration, never of headers of a request. */
export const pageUrl = ({ config }: Pick<App, 'config'>, slug: string): string => `${config.publicUrl}/status/${slug}`

/** Saves the settings. Must run in a transaction. @throws Refusal 400 if the slug is not free; 405 if it was changed too often */
export async function saveSettings(
  app: Pick<App, 'db' | 'config' | 'clock'>,
  org: OrgScope,
  settings: Omit<StatusPage, 'url' | 'previewUrl'>,
): Promise<void> {
  const { db } = app
  const now = app.clock.now()
  const { tags, ...page } = settings
  const before = await findPage(db, org.id)
  if (before?.slug !== page.slug) await changeSlug(app, org.id, before?.slug ?? null, page.slug)
  await savePage(db, { orgId: org.id, ...page, alertKinds: [...new Set(page.alertKinds)] })
  await replaceTags(db, org.id, tags, now)
  if (page.isEnabled && !before?.isEnabled) await restartMeasuring(db, org.id, now)
}

async function changeSlug(
  { db, clock }: Pick<App, 'db' | 'clock'>,
  orgId: number,
  before: string | null,
  slug: string,
): Promise<void> {
  const now = clock.now()
  await lockSlugs(db)
  if (isReservedCode(slug) || !(await isSlugFree(db, orgId, slug, now)))
    throw invalidField('slug', 'This address is taken')
  await releaseSlug(db, slug)
  if (before === null) return
  if ((await countReservedSlugs(db, orgId, now)) >= statusPageLimits.heldSlugs)
    throw refuse('TOO_MANY', 'The address was changed too often. Earlier addresses stay reserved for 90 days.')
  await reserveSlug(db, { slug: before, orgId, until: new Date(now.getTime() + reservedMs) })
}
