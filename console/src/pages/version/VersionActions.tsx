import { squidDisabledReasons, type Squid } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { Copy, Ellipsis, Play, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { copyEndpoint, endpointDisabledReason, useSquidActions } from '../../components/squid/use-squid-actions.tsx'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { IconButton } from '../../ui/IconButton.tsx'
import { MenuButton } from '../../components/MenuButton.tsx'
import { lazyPart, Optional } from '../../lib/lazy.tsx'

const RollbackDialog = lazyPart(() => import('./deployments/RollbackDialog.tsx'))

/** The actions of the header: the most used ones as buttons, the others in a menu. */
export function VersionActions({ squid }: { squid: Squid }) {
  const [isRollingBack, setIsRollingBack] = useState(false)
  const actions = useSquidActions()
  const { copy, restart, hibernate, delete: remove } = actions.actionsOf(squid)
  const rollback = {
    id: 'rollback',
    label: 'Roll back…',
    icon: <Undo2 size={16} />,
    disabledReason: squid.image === null ? 'There is nothing to roll back to.' : squidDisabledReasons.rollback(squid),
    onAction: () => setIsRollingBack(true),
  }
  return (
    <>
      <PlaygroundLink squid={squid} />
      {squid.api && (
        <Button
          icon={<Copy size={14} aria-hidden />}
          disabledReason={endpointDisabledReason(squid)}
          onClick={() => copyEndpoint(squid)}
        >
          Copy endpoint
        </Button>
      )}
      <MenuButton
        label={`Actions for ${squid.reference}`}
        groups={[
          { id: 'version', actions: [copy, restart, hibernate, rollback] },
          { id: 'delete', actions: [remove] },
        ]}
        renderTrigger={(trigger) => (
          <IconButton
            {...trigger}
            label={`Actions for ${squid.reference}`}
            variant="secondary"
            icon={<Ellipsis size={16} aria-hidden />}
            disabledReason={actions.menuDisabledReason(squid)}
          />
        )}
      />
      <Optional what="The dialog" onFailed={() => setIsRollingBack(false)}>
        {isRollingBack && <RollbackDialog squid={squid} onClose={() => setIsRollingBack(false)} />}
      </Optional>
    </>
  )
}

/** Links to the GraphQL playground; renders nothing for a version without an API. */
function PlaygroundLink({ squid }: { squid: Squid }) {
  if (!squid.api) return null
  const label = 'GraphQL playground'
  const icon = <Play size={14} aria-hidden />
  const disabledReason = squid.image === null ? 'The API has never started.' : squidDisabledReasons.copyEndpoint(squid)
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
