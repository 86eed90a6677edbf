import { Bell } from 'lucide-react'
import { useRef, useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { useBellAlerts } from '../../api/alerts.ts'
import { cx } from '../../ui/classes.ts'
import { IconButton } from '../../ui/IconButton.tsx'
import { lazyPart, LazyBoundary } from '../../lib/lazy.tsx'

const AlertsPopover = lazyPart(() => import('./AlertsPopover.tsx'))

const maxCount = 99

/** A bell with the number of open, unmuted alerts, in the colour of the most severe. The popover opens after its code has loaded. */
export function AlertsBell() {
  const ref = useRef<HTMLButtonElement>(null)
  const [isOpen, setIsOpen] = useState(false)
  const hasOrg = useOrg().code !== ''
  const alerts = useBellAlerts()
  const unmuted = alerts?.filter(({ isMuted }) => !isMuted) ?? []
  const count = unmuted.length
  const isCritical = unmuted[0]?.severity === 'CRITICAL'
  const load = () => void AlertsPopover.preload()
  if (!hasOrg) return null
  return (
    <>
      <IconButton
        ref={ref}
        label={count === 0 ? 'Alerts' : `Alerts: ${count} open`}
        icon={
          <>
            <Bell size={16} aria-hidden />
            {count > 0 && (
              <span
                aria-hidden
                className={cx(
                  'tabular absolute -top-1 -right-1 min-w-4 rounded-full px-1 text-label leading-4 font-medium',
                  isCritical ? 'bg-bad text-on-bad' : 'bg-warn text-canvas',
                )}
              >
                {count > maxCount ? `${maxCount}+` : count}
              </span>
            )}
          </>
        }
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onPointerEnter={load}
        onFocus={load}
        onClick={() => void AlertsPopover.load().then(() => setIsOpen(true))}
      />
      <LazyBoundary what="The list of alerts" onFailed={() => setIsOpen(false)}>
        {isOpen && <AlertsPopover alerts={alerts} triggerRef={ref} onClose={() => setIsOpen(false)} />}
      </LazyBoundary>
    </>
  )
}
