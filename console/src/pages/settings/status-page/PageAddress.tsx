import type { StatusPage } from '@shoal/contract'
import { ExternalLink } from 'lucide-react'
import { Badge } from '../../../ui/Badge.tsx'
import { buttonClass } from '../../../ui/Button.tsx'
import { CopyField } from '../../../ui/CopyButton.tsx'

/** Shows whether the page is public, and its address with a link, or a link to a preview. */
export function PageAddress({ page: { isEnabled, url, previewUrl } }: { page: StatusPage }) {
  if (!isEnabled)
    return (
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 text-ink-2">
        <Badge>Off</Badge>
        <p className="min-w-0 flex-1 basis-60">The page is not public. Turn it on below.</p>
        {previewUrl !== null && <OpenLink href={previewUrl}>Preview</OpenLink>}
      </div>
    )
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Badge tone="good">Public</Badge>
      <div className="min-w-0 flex-1 basis-60">
        <CopyField text={url} what="address of the status page" isWrapped />
      </div>
      <OpenLink href={url}>Open page</OpenLink>
    </div>
  )
}

function OpenLink({ href, children }: { href: string; children: string }) {
  return (
    <a href={href} target="_blank" rel="noreferrer" className={buttonClass()}>
      <ExternalLink size={14} aria-hidden />
      {children}
    </a>
  )
}
