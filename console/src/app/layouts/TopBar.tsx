import { Link } from '@tanstack/react-router'
import { Menu, Search } from 'lucide-react'
import { useUser } from '../../api/session.ts'
import { modKey } from '../../lib/hotkeys.ts'
import { usePreview } from '../../lib/preview-mode.ts'
import { cx } from '../../ui/classes.ts'
import { Label } from '../../ui/Badge.tsx'
import { IconButton } from '../../ui/IconButton.tsx'
import { Kbd } from '../../ui/Kbd.tsx'
import { Logo } from '../../ui/Logo.tsx'
import { AlertsBell } from './AlertsBell.tsx'
import { jumpAction } from './overlays.ts'
import { UserMenu } from './UserMenu.tsx'

/** The logo, the PREVIEW label, search, alerts and the user's menu, and on narrow screens a button that opens the navigation (spec 2.3). */
export function TopBar({ onOpenNavigation }: { onOpenNavigation: () => void }) {
  const isVerified = useUser().emailVerified
  return (
    <>
      <IconButton
        label="Open navigation"
        icon={<Menu size={18} aria-hidden />}
        onClick={onOpenNavigation}
        className="-ml-1.5 md:hidden"
      />
      <div className="flex items-center gap-2.5 md:w-55 xl:w-73">
        <Link to="/squids" className="flex items-center gap-2 rounded-sm text-brand font-semibold">
          <Logo className="text-accent" />
          Shoal
        </Link>
        {usePreview() && <Label tone="accent">PREVIEW</Label>}
      </div>
      {isVerified && (
        <>
          <button
            type="button"
            onClick={jumpAction.run}
            className="hidden h-8 w-80 items-center gap-2 rounded-md border border-line bg-subtle px-2.5 text-ink-3 transition-colors hover:border-edge-strong md:flex"
          >
            <Search size={14} aria-hidden />
            {jumpAction.label}
            <span className="ml-auto">
              <Kbd keys={`${modKey} K`} />
            </span>
          </button>
          <IconButton
            label="Search"
            icon={<Search size={16} aria-hidden />}
            onClick={jumpAction.run}
            className="ml-auto md:hidden"
          />
        </>
      )}
      <div className={cx('ml-auto flex items-center gap-2', isVerified && 'max-md:ml-0')}>
        {isVerified && <AlertsBell />}
        <UserMenu />
      </div>
    </>
  )
}
