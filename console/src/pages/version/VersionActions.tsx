import { squidActionChecks, type Squid } from '@shoal/contract'
import { Ellipsis, Play } from 'lucide-react'
import { ActionButton } from '../../components/ActionButton.tsx'
import { LinkButton } from '../../components/LinkButton.tsx'
import { MenuButton } from '../../components/MenuButton.tsx'
import { useVersionActions } from '../../components/squid/use-version-actions.ts'
import { groupsOf } from '../../ui/action.ts'
import { IconButton } from '../../ui/IconButton.tsx'

/** The actions in the header of a version: the most used ones as buttons, and all others in a menu. */
export function VersionActions({ squid }: { squid: Squid }) {
  const { actionOf, actionsOf, menuDisabledReason } = useVersionActions()
  return (
    <>
      {squid.api && (
        <>
          <LinkButton
            from="/squids/$squidName/$squidSlot"
            to="/squids/$squidName/$squidSlot/playground"
            icon={<Play size={14} aria-hidden />}
            disabledReason={squid.image === null ? 'The API has never started.' : squidActionChecks.copyEndpoint(squid)}
          >
            GraphQL playground
          </LinkButton>
          <ActionButton action={actionOf('copyEndpoint', squid)} />
        </>
      )}
      <MenuButton
        label={`Actions for ${squid.reference}`}
        groups={groupsOf(actionsOf(squid))}
        renderTrigger={(trigger) => (
          <IconButton
            {...trigger}
            label={`Actions for ${squid.reference}`}
            variant="secondary"
            icon={<Ellipsis size={16} aria-hidden />}
            disabledReason={menuDisabledReason(squid)}
          />
        )}
      />
    </>
  )
}
