import { squidCan, type Squid } from '@shoal/contract'
import { Copy, Ellipsis, Undo2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { copyEndpoint, useSquidActions, whyNoEndpoint } from '../../components/squid/use-squid-actions.tsx'
import { Button } from '../../ui/Button.tsx'
import { IconButton } from '../../ui/IconButton.tsx'
import { MenuButton } from '../../ui/MenuButton.tsx'
import { PlaygroundLink } from './PlaygroundLink.tsx'

const RollbackDialog = lazy(() => import('./deployments/RollbackDialog.tsx'))

/** At the right of the header: what one does most, and a menu with the rest. */
export function VersionActions({ squid }: { squid: Squid }) {
  const [isRollingBack, setIsRollingBack] = useState(false)
  const actions = useSquidActions()
  const { copy, restart, hibernate, delete: remove } = actions.actionsOf(squid)
  const rollback = {
    id: 'rollback',
    label: 'Roll back…',
    icon: <Undo2 size={16} />,
    disabledReason: squid.image === null ? 'There is nothing to go back to.' : squidCan.rollback(squid),
    onAction: () => setIsRollingBack(true),
  }
  return (
    <>
      <PlaygroundLink squid={squid} />
      {squid.api && (
        <Button
          icon={<Copy size={14} aria-hidden />}
          disabledReason={whyNoEndpoint(squid)}
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
            disabledReason={actions.whyNoMenu(squid)}
          />
        )}
      />
      <Suspense>{isRollingBack && <RollbackDialog squid={squid} onClose={() => setIsRollingBack(false)} />}</Suspense>
    </>
  )
}
