import type { StatusPage } from '@shoal/contract'
import { ExternalLink } from 'lucide-react'
import { Badge } from '../../../ui/Badge.tsx'
import { buttonClass } from '../../../ui/Button.tsx'
import { CopyField } from '../../../ui/CopyButton.tsx'

/** Whether the page is public, its address, and a link to it. */
export function PageAddress({ page: { isEnabled, url } }: { page: StatusPage }) {
  if (!isEnabled)
    return (
      <p className="flex flex-wrap items-center gap-2 text-ink-2">
        <Badge>Off</Badge> The page is not public. Turn it on below.
      </p>
    )
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Badge tone="good">Public</Badge>
      <div className="min-w-0 flex-1 basis-60">
        <CopyField text={url} what="address of the status page" />
      </div>
      <a href={url} target="_blank" rel="noreferrer" className={buttonClass()}>
        <ExternalLink size={14} aria-hidden />
        Open page
      </a>
    </div>
  )
}
