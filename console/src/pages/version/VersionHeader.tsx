import type { Squid } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { PageHeader } from '../../components/PageHeader.tsx'
import { SquidStatus } from '../../components/squid/SquidStatus.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Tags } from './Tags.tsx'
import { VersionActions } from './VersionActions.tsx'

/** The header of a version's page: name, slot, status, tags and actions. `tab` names the open tab or deployment, for the title of the browser tab. */
export function VersionHeader({ squid, tab }: { squid: Squid; tab: string | undefined }) {
  const { reference } = squid
  return (
    <PageHeader
      title={reference}
      tab={tab}
      crumbs={<Link to="/squids">Squids</Link>}
      heading={<VersionName reference={reference} />}
      context={
        <span className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
          <SquidStatus squid={squid} />
          <Tags squid={squid} />
        </span>
      }
      actions={<VersionActions squid={squid} />}
    />
  )
}

/** The name and slot of a version in its heading, with a button that copies them. */
export function VersionName({ reference }: { reference: string }) {
  const [name, slot] = reference.split('@')
  return (
    <span className="inline-flex flex-wrap items-center">
      <span>
        {name}
        <span className="font-mono font-normal text-ink-3">@{slot}</span>
      </span>
      <CopyButton text={reference} what="reference" />
    </span>
  )
}
