/** Names that the code used to have, and that a new reader did not understand. They have no other meaning, so they must not return. */
const names = `
  Hands updateMine createLook sightOf provenMs provenFirstMs steadyMs initDone apisAnswer allSteady isSteady
  refuseCrashing crashesForgiven settleAlone oddVersions letGo selectTwin pretendedAddons whyCapped whyNoCompute
  OrgStanding checkStanding createHiding HiddenStamp readSeen SeenContainer SeenProcessor SeenApi SeenDatabase
  SeenHead SeenLag WatchedVersion WatchedRow readWatched Alarming Addressed OfAnOrg listWanted wantNothing canTell
  HeadOf farMs farBlocks usualRests stillMs stillMsAfter keptLowShare keptLagShare eachAtOnce lookAtContainers
  openReading isOfThisRun calmMs listWritten openTelling startTelling tellUnmuted channelsTold waysOf systemReach
  takeIn takeNext beginTry tryEnds dueOf waitsMs noMemory wellMs longerWellMs isNextOfItsStory seldomMs keptShare
  alertsTurn billingTurn alertChosenRules StandingEvent nextStanding moveStanding listLeaving carryOutHibernations
  whatHappens ContainerSeen DatabaseSeen shownPrices collectDue selectAsking drawFeet usageToCome missingOf LinesAsked
  HistoryAsked FollowAsked CandidatesAsked ContainersAsked containersAsked levelsAsked askedGrams mayHold lookedUp
  lookedThrough lookThrough lookAtAll lookAt IsKept restPerWork makeRoom MadeOrg whichInvite noticeEmail takeTry
  nobodysHash askJson Asker askBatch Hedgeable NoAnswer beforeKnownMs goneBackMs lieOf lookForGoingBack
  isHarmlessTwice heldBody avoidedMs betweenTriesMs brokenOff answerOwn newsWaitMs newsLookMs untilUnreadable wholeOf
  startLeading untilTold samePressMs noteServer placesOf asideName moveAside occupiedOf SealedPlace sealedPlaces
  listSealedOtherwise countOtherwise sealedBeginning writeLetter openWork endStrays leaveHost isCalledOff LOOK_MS
  giveTo makeWalkable passControllersDown reachableDir howItEnded CannotStart lastWords LineLook looksOf filterLooks
  deliveryLook squidStatusLook foldClass spokenAt orNothing LogsAsked askedOf askedTimes underWay untimed useSeen
  useShown inTurn useSameWhile stretchOf tellOnScreen wholeEveryMs silentForMs sayWhyNot edgeOf onlySignedOut
  onlySignedIn onlyWhoInvites StandingBanner MortalApp quickPace
`

/** Matches the former names. */
export const formerNames = new RegExp(`\\b(${names.trim().split(/\s+/).join('|')})\\b`, 'g')
