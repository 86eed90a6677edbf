import { Link } from '@tanstack/react-router'
import { BookOpen, CircleAlert, Mail, Plus, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { useUser } from '../../api/session.ts'
import { documentationUrl, supportEmail } from '../../lib/installation.ts'
import { Label } from '../../ui/Badge.tsx'
import { cx } from '../../ui/classes.ts'
import type { NavItem } from './nav.ts'
import { OrgSwitcher } from './OrgSwitcher.tsx'
import { useNavItems } from './use-nav-items.ts'

const itemClass = 'flex h-8 items-center gap-2.5 rounded-md px-2.5'
const enabledClass =
  'text-ink-2 transition-colors hover:bg-muted hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent'
const classOf = (isDisabled: boolean) =>
  cx(itemClass, isDisabled ? 'pointer-events-none text-ink-2 opacity-50' : enabledClass)

const warningIcons = { warn: TriangleAlert, bad: CircleAlert }

/** The organization switcher and the navigation (spec 2.3). Disabled until the email is confirmed. */
export function Sidebar() {
  const isVerified = useUser().emailVerified
  return (
    <div className="flex min-h-full flex-col p-3">
      <OrgSwitcher />
      <Link
        to="/organizations/create/{-$code}"
        disabled={!isVerified}
        className="mt-1 mb-3 flex h-8 items-center gap-2.5 rounded-md px-2.5 text-ink-3 transition-colors hover:bg-muted hover:text-ink aria-disabled:pointer-events-none aria-disabled:opacity-50"
      >
        <Plus size={16} aria-hidden />
        Create new organization
      </Link>
      <nav aria-label="Main" className="flex flex-1 flex-col gap-0.5">
        {useNavItems().map((item) => (
          <NavLink key={item.to} item={item} isDisabled={!isVerified} />
        ))}
        <hr className="my-2 border-line" />
        <ExternalLink href={documentationUrl()} isDisabled={!isVerified} icon={<BookOpen size={16} aria-hidden />}>
          Documentation
        </ExternalLink>
        <ExternalLink href={`mailto:${supportEmail()}`} isDisabled={!isVerified} icon={<Mail size={16} aria-hidden />}>
          Contact support
        </ExternalLink>
      </nav>
    </div>
  )
}

function NavLink({ item, isDisabled }: { item: NavItem; isDisabled: boolean }) {
  const { label, to, icon: Icon, isBeta, warning } = item
  const Warning = warning && warningIcons[warning.tone]
  return (
    <Link to={to} disabled={isDisabled} className={classOf(isDisabled)}>
      <Icon size={16} aria-hidden className="shrink-0" />
      <span className="flex-1 truncate">{label}</span>
      {isBeta && <Label>BETA</Label>}
      {Warning && (
        <span data-tip={warning.text} className={warning.tone === 'bad' ? 'text-bad' : 'text-warn'}>
          <Warning size={16} aria-label={warning.text} />
        </span>
      )}
    </Link>
  )
}

type ExternalLinkProps = { href: string; isDisabled: boolean; icon: ReactNode; children: string }

function ExternalLink({ href, isDisabled, icon, children }: ExternalLinkProps) {
  if (isDisabled)
    return (
      <span aria-disabled className={classOf(true)}>
        {icon}
        {children}
      </span>
    )
  return (
    <a
      href={href}
      target={href.startsWith('mailto:') ? undefined : '_blank'}
      rel="noreferrer"
      className={classOf(false)}
    >
      {icon}
      {children}
    </a>
  )
}
