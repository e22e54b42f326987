# What iotrace must have counted on one device, from the kernel's own blktrace
# records of the same run.
#
# In: lines "ACTION RWBS SECTOR BYTES" as blkparse prints them, in the order of
# time. Out: lines "NAME NUMBER". Written from the definitions in words, and
# from nothing else: no line here may come from the tracer's classifier, or the
# two would agree about the same mistake.
#
# Set with -v (bytes, unless it says sectors; 0 or unset: there is none):
#   event       D: count requests when issued. Q: count bios when queued
#   from, to    only what begins in these sectors [from, to); to = 0: no end
#   base        sectors to take off a position before chunk and stripe are
#               looked at (where a partition's table begins on its disk)
#   zeroes_from, zeroes_to   sectors in which every write is a "write zeroes":
#               blktrace calls both W
#   physical, alignment, logical, chunk, stripe   the geometry

BEGIN {
    split("read write write_zeroes discard", OPS, " ")
    if (event == "") event = "D"
}

# ---- which lines count

{ action = $1; rwbs = $2; sector = $3 + 0; bytes = $4 + 0; op = operation() }

sector < from + 0 || (to + 0 > 0 && sector >= to + 0) { next }

event == "Q" && action == "Q" { count() }
event == "D" && action == "D" { if (issued()) count(); next }
event == "D" && action == "R" { given_back(); next }
event == "D" && action == "C" { completed(); next }
# What asks for a flush, or to be written through the cache, is seen on bios
# only. (A device without a cache sees no empty bio: the kernel ends it before.)
action == "Q" && rwbs ~ /^F/ { if (bytes == 0) empty_flush_bios++; else preflush_bios++ }
action == "Q" && bytes > 0 && rwbs ~ /^F?[RWDN]F/ { fua_bios++ }

function operation() {
    if (bytes == 0) return "flush"
    if (rwbs ~ /D/) return "discard"
    if (rwbs !~ /W/) return "read"
    if (sector >= zeroes_from + 0 && sector < zeroes_to + 0) return "write_zeroes"
    return "write"
}

# ---- a request counts once, however often it is issued
#
# flying[op, sector] is a list of the lengths that were issued there and have
# neither completed nor gone back to the queue; waiting[...] of those that went
# back after they had been issued.

function issued(    again) {
    again = take(waiting, bytes)
    put(flying, sector, bytes)
    return !again
}

function given_back() {
    # A request may go back to the queue without ever having been issued: its
    # issue, when it comes, is the first.
    if (!take(flying, bytes)) return
    put(waiting, sector, bytes)
    requeued++
}

function completed(    n) {
    if (take(flying, bytes)) return
    # In part: the rest begins where this part ends.
    n = longest(bytes)
    if (n == 0) return
    take(flying, n)
    put(flying, sector + bytes / 512, n - bytes)
    in_part++
}

function put(list, at, n) { list[op, at] = list[op, at] " " n }

# Takes one length n out of the list; whether there was one.
function take(list, n,    parts, many, i, rest, found) {
    many = split(list[op, sector], parts, " ")
    for (i = 1; i <= many; i++) {
        if (!found && parts[i] == n) found = 1
        else rest = rest " " parts[i]
    }
    list[op, sector] = rest
    return found
}

# A length flying from here that is more than n, 0 if none is.
function longest(n,    parts, many, i) {
    many = split(flying[op, sector], parts, " ")
    for (i = 1; i <= many; i++) if (parts[i] + 0 > n) return parts[i] + 0
    return 0
}

# ---- what is counted

function count() {
    if (op == "flush") { if (event == "D") flushes++; return }
    first = sector * 512
    last = first + bytes - 1
    add("requests", 1)
    add("bytes", bytes)
    by_physical_block()
    first -= base * 512
    last -= base * 512
    if (chunk + 0 > 0) by_chunk()
    if (stripe + 0 > 0 && op != "read") by_stripe()
}

function add(name, n) { total[op "." name] += n }

# The number of the block of this size that a byte lies in; blocks are counted
# from the alignment offset, so that there is one below it.
function block_of(at, size, offset,    n) {
    n = int((at - offset) / size)
    if (n * size > at - offset) n--
    return n
}

function begins(n, size, offset) { return n * size + offset }

function by_physical_block(    a, z, partial, whole) {
    if (physical + 0 == 0) { add("physical.unknown", 1); return }
    a = block_of(first, physical, alignment)
    z = block_of(last, physical, alignment)
    # Of the blocks touched only the first and the last can be covered in part.
    if (first != begins(a, physical, alignment)) head_ragged = 1; else head_ragged = 0
    if (last + 1 != begins(z + 1, physical, alignment)) tail_ragged = 1; else tail_ragged = 0
    if (a == z) partial = (head_ragged || tail_ragged) ? 1 : 0
    else partial = head_ragged + tail_ragged
    add("physical.partial_blocks", partial)
    add("remainder." sprintf("%.0f", (first - begins(a, physical, alignment)) / logical), 1)
    if (partial == 0) { add("physical.aligned", 1); return }
    add("physical.misaligned", 1)
    if (bytes < physical + 0) add("physical.sub_block", 1)
    else add("physical.off_grid", 1)
}

function by_chunk(    a, z) {
    a = block_of(first, chunk, 0)
    z = block_of(last, chunk, 0)
    if (first == begins(a, chunk, 0) && last + 1 == begins(z + 1, chunk, 0)) add("chunk.aligned", 1)
    else if (a == z) add("chunk.inside", 1)
    else add("chunk.crossing", 1)
}

# Whole stripes covered, found by walking over every stripe touched.
function by_stripe(    n, z, full) {
    z = block_of(last, stripe, 0)
    for (n = block_of(first, stripe, 0); n <= z; n++)
        if (begins(n, stripe, 0) >= first && begins(n + 1, stripe, 0) <= last + 1) full += stripe
    full += 0
    add("stripe.full_bytes", full)
    add("stripe.partial_bytes", bytes - full)
    if (full == bytes) add("stripe.full", 1)
    else if (full > 0) add("stripe.mixed", 1)
    else add("stripe.partial", 1)
}

END {
    for (name in total) say(name, total[name])
    say("flush.requests", flushes)
    say("flush.empty_bios", empty_flush_bios)
    say("flush.preflush_bios", preflush_bios)
    say("flush.fua_bios", fua_bios)
    say("requeued", requeued)
    say("in_part", in_part)
    for (key in flying) if (flying[key] ~ /[0-9]/) still++
    for (key in waiting) if (waiting[key] ~ /[0-9]/) still++
    say("still_in_flight", still)
}

# %d would end at 2^31 in some awks.
function say(name, n) { printf "%s %.0f\n", name, n + 0 }
