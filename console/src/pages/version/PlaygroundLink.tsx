import { squidCan, type Squid } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { Play } from 'lucide-react'
import { Button, buttonClass } from '../../ui/Button.tsx'

/** To where one asks the API of the version; nothing for a version without one. */
export function PlaygroundLink({ squid }: { squid: Squid }) {
  if (!squid.api) return null
  const label = 'GraphQL playground'
  const icon = <Play size={14} aria-hidden />
  const disabledReason = squid.image === null ? 'Its API was never up.' : squidCan.copyEndpoint(squid)
  if (disabledReason !== null)
    return (
      <Button icon={icon} disabledReason={disabledReason}>
        {label}
      </Button>
    )
  return (
    <Link from="/squids/$squidName/$squidSlot" to="/squids/$squidName/$squidSlot/playground" className={buttonClass()}>
      {icon}
      {label}
    </Link>
  )
}
