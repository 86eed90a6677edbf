import type { Squid } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { PageHeader } from '../../components/PageHeader.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { PlaygroundLink } from './PlaygroundLink.tsx'
import { Tags } from './tags/Tags.tsx'
import { VersionStatus } from './VersionStatus.tsx'

/** Name, slot, status and tags of the version, and what can be done with it. */
export function VersionHeader({ squid }: { squid: Squid }) {
  const { name, slot, reference } = squid
  return (
    <PageHeader
      title={reference}
      crumbs={<Link to="/squids">Squids</Link>}
      heading={
        <span className="inline-flex flex-wrap items-center">
          {name}
          <span className="font-mono font-normal text-ink-3">@{slot}</span>
          <CopyButton text={reference} what="reference" />
        </span>
      }
      context={
        <span className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
          <VersionStatus squid={squid} />
          <Tags squid={squid} />
        </span>
      }
      actions={<PlaygroundLink squid={squid} />}
    />
  )
}
