#!/bin/sh
# Stands in for the servers of the city facts, under the name it is called by: speaks MCP line by line, gives the one tool that the
# pipelines use, and needs nothing but a shell, so that it is there long before a connection may time out. What stands in a file
# of its name and `.says` is its answer to calls instead.
case $0 in
    *mcp-server-time)
        tool=get_current_time takes=timezone
        gives='"content":[],"structuredContent":{"timezone":"America/New_York","datetime":"2026-11-20T10:30:00-05:00","day_of_week":"Friday","is_dst":false}'
        ;;
    *mcp-server-everything) tool=echo takes=message ;;
    *)
        tool=get_temperature takes=latitude
        gives='"content":[],"structuredContent":{"temperature":10,"unit":"C","description":"cool"}'
        ;;
esac
while read -r line; do
    answer= id=${line#*\"id\":} id=${id%%[!0-9]*}
    case $line in
        *'"method":"server/discover"'*) result='"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}' ;;
        *'"method":"tools/list"'*) result='"tools":[{"name":"'$tool'","inputSchema":{"type":"object","required":["'$takes'"]}}]' ;;
        *'"method":"tools/call"'*)
            text=${line#*\"message\":\"} text=${text%%\"*}
            result=${gives:-'"content":[{"type":"text","text":"Echo: '$text'"}]'}
            [ -e "$0.says" ] && read -r answer < "$0.says"
            ;;
        *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "${answer:-"\"result\":{$result}"}"
done
