import type { Org } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { buttonClass } from '../../ui/Button.tsx'
import { Card } from '../../ui/Card.tsx'
import { OrgCodeCard } from './OrgSettings.tsx'
import { RpcUsage } from './RpcUsage.tsx'

/** The personal workspace: it has a code and RPC requests, and nobody else in it (spec 2.6). */
export function PlaygroundSettings({ org }: { org: Org }) {
  return (
    <div className="flex flex-col gap-5">
      <OrgCodeCard code={org.code} />
      <RpcUsage code={org.code} />
      <Card title="Members" isPadded>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="min-w-0 flex-1 basis-60 text-ink-2">
            You cannot invite users to the playground. Create an organization to work on squids together.
          </p>
          <Link to="/organizations/create/{-$code}" className={buttonClass()}>
            Create organization
          </Link>
        </div>
      </Card>
    </div>
  )
}
